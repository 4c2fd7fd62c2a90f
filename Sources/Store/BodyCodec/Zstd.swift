import CZstd

/// Zstandard for one thread, with reused contexts (facebook.github.io/zstd).
///
/// Level 3, without a checksum, because the chain's SHA-256 covers the body.
final class Zstd {
  static let level: Int32 = 3

  private let compressor: OpaquePointer
  private let decompressor: OpaquePointer

  init() {
    guard let compressor = ZSTD_createCCtx(), let decompressor = ZSTD_createDCtx() else {
      preconditionFailure("zstd has no memory at start")
    }
    self.compressor = compressor
    self.decompressor = decompressor
  }

  deinit {
    ZSTD_freeCCtx(compressor)
    ZSTD_freeDCtx(decompressor)
  }

  /// One frame. Returns nil if zstd fails; the caller then stores the bytes uncompressed.
  func compress(_ bytes: [UInt8], with dictionary: ZstdDictionary?) -> [UInt8]? {
    var size = 0
    let frame = [UInt8](unsafeUninitializedCapacity: ZSTD_compressBound(bytes.count)) {
      target, count in
      size = bytes.withUnsafeBytes { source in
        guard let dictionary else {
          return ZSTD_compressCCtx(
            compressor, target.baseAddress, target.count, source.baseAddress, source.count,
            Self.level)
        }
        return ZSTD_compress_usingCDict(
          compressor, target.baseAddress, target.count, source.baseAddress, source.count,
          dictionary.compression)
      }
      count = ZSTD_isError(size) == 0 ? size : 0
    }
    return ZSTD_isError(size) == 0 ? frame : nil
  }

  /// The content of a frame, or nil unless it has exactly `size` bytes. A file may be tampered
  /// with, so at most `size` bytes are written whatever the frame declares.
  func decompress(
    _ frame: ArraySlice<UInt8>, size: Int, with dictionary: ZstdDictionary?
  ) -> [UInt8]? {
    var found = 0
    // At least one byte, because the count of an array of none is in what all empty arrays share.
    let bytes = [UInt8](unsafeUninitializedCapacity: max(size, 1)) { target, count in
      found = frame.withUnsafeBytes { source in
        guard let dictionary else {
          return ZSTD_decompressDCtx(
            decompressor, target.baseAddress, size, source.baseAddress, source.count)
        }
        return ZSTD_decompress_usingDDict(
          decompressor, target.baseAddress, size, source.baseAddress, source.count,
          dictionary.decompression)
      }
      count = ZSTD_isError(found) == 0 ? found : 0
    }
    return found == size ? bytes : nil
  }
}
