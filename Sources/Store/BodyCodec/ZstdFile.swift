import CZstd

/// Zstandard files (RFC 8878), for compressed exports and their import.
public enum ZstdFile {
  /// The first four bytes of every frame (RFC 8878, section 3.1.1).
  static let magic: [UInt8] = [0x28, 0xB5, 0x2F, 0xFD]

  /// What unpacks a file that begins with these bytes; nil for one that is not a zstd file.
  @Sendable
  public static func unpacker(_ first: [UInt8]) -> (([UInt8]) -> [UInt8]?)? {
    first.starts(with: magic) ? Reader().unpack : nil
  }

  /// One complete frame, also if that is not smaller. Concatenated frames are a file that any zstd
  /// reads. Returns nil if zstd fails.
  public static func frame(_ bytes: [UInt8]) -> [UInt8]? {
    Zstd().compress(bytes, with: nil)
  }

  /// Decompresses a file that is read in chunks. The file may come from any program.
  final class Reader {
    private let context: OpaquePointer
    private var isBroken = false
    private var isInFrame = false
    /// Bytes that one chunk may unpack to: a file may come from a stranger, and a few of its bytes
    /// could stand for gigabytes.
    private static let maximumUnpacked = 64 << 20

    init() {
      guard let context = ZSTD_createDCtx() else {
        preconditionFailure("zstd has no memory at start")
      }
      self.context = context
    }

    deinit { ZSTD_freeDCtx(context) }

    /// The content of the next chunk of the file, or nil if the file is damaged. Pass an empty
    /// chunk at the end of the file: the result is nil if the last frame is incomplete.
    func unpack(_ bytes: [UInt8]) -> [UInt8]? {
      guard !isBroken, !(bytes.isEmpty && isInFrame) else { return nil }
      guard !bytes.isEmpty else { return [] }
      var unpacked: [UInt8] = []
      var buffer = [UInt8](repeating: 0, count: ZSTD_DStreamOutSize())
      let isGood = bytes.withUnsafeBytes { source in
        var input = ZSTD_inBuffer(src: source.baseAddress, size: source.count, pos: 0)
        return buffer.withUnsafeMutableBytes { target in
          var isFull = true
          while input.pos < input.size || isFull {
            var output = ZSTD_outBuffer(dst: target.baseAddress, size: target.count, pos: 0)
            let left = ZSTD_decompressStream(context, &output, &input)
            if ZSTD_isError(left) != 0 { return false }
            isInFrame = left != 0
            unpacked += target[..<output.pos]
            if unpacked.count > Self.maximumUnpacked { return false }
            // After a full buffer zstd may hold more output.
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
