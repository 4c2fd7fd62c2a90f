import CZstd

/// Zstandard files (RFC 8878), for what leaves the folder and comes back.
public enum ZstdFile {
  /// The first four bytes of every frame (section 3.1.1).
  public static let magic: [UInt8] = [0x28, 0xB5, 0x2F, 0xFD]

  /// One whole frame; frames behind each other make a file that any zstd reads. A piece that does
  /// not become smaller is still a frame.
  public static func frame(_ bytes: [UInt8]) -> [UInt8]? {
    Zstd().compress(bytes, with: nil)
  }

  /// Unpacks a file that comes in pieces, whoever wrote it.
  public final class Reader {
    private let context: OpaquePointer
    private var isBroken = false
    private var isInFrame = false

    public init() {
      guard let context = ZSTD_createDCtx() else {
        preconditionFailure("zstd has no memory at start")
      }
      self.context = context
    }

    deinit { ZSTD_freeDCtx(context) }

    /// What a piece of the file holds; nil where it is damaged. An empty piece is the file's end,
    /// which must be a frame's.
    public func unpack(_ bytes: [UInt8]) -> [UInt8]? {
      guard !isBroken, !(bytes.isEmpty && isInFrame) else { return nil }
      guard !bytes.isEmpty else { return [] }
      var unpacked: [UInt8] = []
      var room = [UInt8](repeating: 0, count: ZSTD_DStreamOutSize())
      let isGood = bytes.withUnsafeBytes { source in
        var input = ZSTD_inBuffer(src: source.baseAddress, size: source.count, pos: 0)
        return room.withUnsafeMutableBytes { target in
          var isFull = true
          while input.pos < input.size || isFull {
            var output = ZSTD_outBuffer(dst: target.baseAddress, size: target.count, pos: 0)
            let left = ZSTD_decompressStream(context, &output, &input)
            if ZSTD_isError(left) != 0 { return false }
            isInFrame = left != 0
            unpacked += target[..<output.pos]
            // A full room may leave more behind.
            isFull = output.pos == output.size
          }
          return true
        }
      }
      isBroken = !isGood
      return isGood ? unpacked : nil
    }
  }
}
