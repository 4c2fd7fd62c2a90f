import Encoding

/// What bodies of one signing header are compressed against, and that header.
///
/// Stored as a 1, the header with its length before it, and the bytes for zstd. Older ones are a
/// header and a payload as they are: they begin with a letter, and bodies against them bring their
/// headers along.
final class BodyDictionary: Sendable {
  private static let mark: UInt8 = 1

  /// Empty for an older one.
  let header: [UInt8]
  let zstd: ZstdDictionary

  /// Reads what is stored; nil where that is cut off.
  init?(stored: [UInt8]) {
    guard stored.first == Self.mark else {
      header = []
      zstd = ZstdDictionary(stored)
      return
    }
    var rest = stored.dropFirst()
    guard let count = VarInt.take(&rest), count > 0, count <= rest.count else { return nil }
    header = Array(rest.prefix(count))
    zstd = ZstdDictionary(Array(rest.dropFirst(count)))
  }

  /// The bytes to store for a new one.
  static func stored(header: [UInt8], content: [UInt8]) -> [UInt8] {
    var bytes = [mark]
    VarInt.append(header.count, to: &bytes)
    return bytes + header + content
  }
}
