import CZstd

/// A zstd dictionary, prepared once for compression and decompression.
///
/// `nonisolated(unsafe)` because using a prepared dictionary only reads it, from any number of
/// threads (zstd.h).
final class ZstdDictionary: Sendable {
  nonisolated(unsafe) let compression: OpaquePointer
  nonisolated(unsafe) let decompression: OpaquePointer

  init(_ bytes: [UInt8], level: Int32 = Zstd.level) {
    let made = bytes.withUnsafeBytes {
      (
        ZSTD_createCDict($0.baseAddress, $0.count, level),
        ZSTD_createDDict($0.baseAddress, $0.count)
      )
    }
    guard let compression = made.0, let decompression = made.1 else {
      preconditionFailure("zstd has no memory for a dictionary")
    }
    self.compression = compression
    self.decompression = decompression
  }

  /// The size of a trained dictionary in bytes. A larger one did not compress a thousand
  /// notifications better.
  private static let trainedBytes = 16 << 10

  /// Trains a dictionary on similar texts. It contains the statistics of their symbols, which
  /// otherwise every frame would have to contain (zdict.h). Returns nil if zstd cannot train one,
  /// for example because there are too few samples.
  static func train(on samples: [[UInt8]]) -> [UInt8]? {
    let all = samples.flatMap { $0 }
    let sizes = samples.map(\.count)
    var size = 0
    let bytes = [UInt8](unsafeUninitializedCapacity: trainedBytes) { target, count in
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
