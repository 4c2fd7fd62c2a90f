import CZstd

/// Zstandard for one thread: contexts are made once and used again (facebook.github.io/zstd).
///
/// Level 3, no checksum: the chain's SHA-256 covers the body already.
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

  /// One frame; nil where zstd cannot, and the caller stores the bytes as they are.
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

  /// What a frame holds, nil unless that is exactly `size` bytes. The file may have been tampered
  /// with: no more than `size` bytes are ever written, whatever the frame says.
  func decompress(
    _ frame: ArraySlice<UInt8>, size: Int, with dictionary: ZstdDictionary?
  ) -> [UInt8]? {
    var found = 0
    let bytes = [UInt8](unsafeUninitializedCapacity: size) { target, count in
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

/// Bytes to compress against, digested once for both ways.
///
/// `nonisolated(unsafe)` because using one only reads it, from several threads too (zstd.h).
final class ZstdDictionary: Sendable {
  nonisolated(unsafe) fileprivate let compression: OpaquePointer
  nonisolated(unsafe) fileprivate let decompression: OpaquePointer

  init(_ bytes: [UInt8]) {
    let made = bytes.withUnsafeBytes {
      (
        ZSTD_createCDict($0.baseAddress, $0.count, Zstd.level),
        ZSTD_createDDict($0.baseAddress, $0.count)
      )
    }
    guard let compression = made.0, let decompression = made.1 else {
      preconditionFailure("zstd has no memory for a dictionary")
    }
    self.compression = compression
    self.decompression = decompression
  }

  /// How much of what repeats is kept: more found no more in a thousand notifications.
  private static let taughtBytes = 16 << 10

  /// Bytes for a dictionary of texts that are alike, with the statistics of their symbols, which
  /// each frame would have to bring along otherwise (zdict.h); nil where there is too little to
  /// learn.
  static func train(on texts: [[UInt8]]) -> [UInt8]? {
    let all = texts.flatMap { $0 }
    let sizes = texts.map(\.count)
    var size = 0
    let bytes = [UInt8](unsafeUninitializedCapacity: taughtBytes) { target, count in
      size = all.withUnsafeBytes { source in
        ZDICT_trainFromBuffer(
          target.baseAddress, target.count, source.baseAddress, sizes, UInt32(sizes.count))
      }
      count = ZDICT_isError(size) == 0 ? size : 0
    }
    return ZDICT_isError(size) == 0 ? bytes : nil
  }

  deinit {
    ZSTD_freeCDict(compression)
    ZSTD_freeDDict(decompression)
  }
}
