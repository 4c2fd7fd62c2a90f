import CZlib

/// Gzip files (RFC 1952), as which Apple's reports are downloaded.
public enum Gzip {
  /// What unpacks a file that begins with these bytes, chunk by chunk, for `LineReader`; nil for
  /// one that is no gzip file.
  @Sendable
  public static func unpacker(_ first: [UInt8]) -> (([UInt8]) -> [UInt8]?)? {
    first.starts(with: [0x1F, 0x8B]) ? Reader().unpack : nil
  }

  /// Unpacks a file that is read in chunks. The file may come from any program.
  private final class Reader {
    /// zlib keeps its address: it must not move.
    private let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    private var isBroken = false
    private var isInMember = false
    /// Bytes that one chunk may unpack to, as of a zstd file.
    private static let maximumUnpacked = 64 << 20

    init() {
      stream.initialize(to: z_stream())
      // The largest window, and a header of gzip.
      let size = Int32(MemoryLayout<z_stream>.size)
      isBroken = inflateInit2_(stream, 15 + 16, ZLIB_VERSION, size) != Z_OK
    }

    deinit {
      inflateEnd(stream)
      stream.deallocate()
    }

    /// The content of the next chunk; nil if the file is damaged. An empty chunk is its end: then
    /// nil if it is cut.
    func unpack(_ bytes: [UInt8]) -> [UInt8]? {
      var bytes = bytes
      var unpacked: [UInt8] = []
      var buffer = [UInt8](repeating: 0, count: 1 << 16)
      if bytes.isEmpty && isInMember { isBroken = true }
      bytes.withUnsafeMutableBufferPointer { source in
        stream.pointee.next_in = source.baseAddress
        stream.pointee.avail_in = UInt32(source.count)
        // After a full buffer zlib may hold more output.
        var isFull = false
        while !isBroken, stream.pointee.avail_in > 0 || isFull {
          let code = buffer.withUnsafeMutableBufferPointer { target in
            stream.pointee.next_out = target.baseAddress
            stream.pointee.avail_out = UInt32(target.count)
            return inflate(stream, Z_NO_FLUSH)
          }
          unpacked += buffer.dropLast(Int(stream.pointee.avail_out))
          isInMember = code != Z_STREAM_END
          isFull = isInMember && stream.pointee.avail_out == 0
          // A file may have several members, one after the other.
          let isGood =
            isInMember ? [Z_OK, Z_BUF_ERROR].contains(code) : inflateReset(stream) == Z_OK
          isBroken = !isGood || unpacked.count > Self.maximumUnpacked
        }
      }
      return isBroken ? nil : unpacked
    }
  }
}
