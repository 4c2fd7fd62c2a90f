import Platform

/// A zstd dictionary for bodies with one signing header, and that header.
///
/// Stored as the byte 1, the length of the header, the header, and the content for zstd. The older
/// format is a header and a payload without lengths. It begins with a letter, and bodies compressed
/// with such a dictionary contain their headers.
final class BodyDictionary: Sendable {
  private static let formatVersion: UInt8 = 1

  /// Empty for a dictionary of the older format.
  let header: [UInt8]
  let zstd: ZstdDictionary

  /// Reads a stored dictionary. Returns nil if it is truncated.
  init?(stored: [UInt8]) {
    guard stored.first == Self.formatVersion else {
      header = []
      zstd = ZstdDictionary(stored)
      return
    }
    var rest = stored.dropFirst()
    guard let count = VarInt.read(&rest), count > 0, count <= rest.count else { return nil }
    header = Array(rest.prefix(count))
    zstd = ZstdDictionary(Array(rest.dropFirst(count)))
  }

  /// The bytes to store for a new dictionary.
  static func stored(header: [UInt8], content: [UInt8]) -> [UInt8] {
    var bytes = [formatVersion]
    VarInt.append(header.count, to: &bytes)
    return bytes + header + content
  }
}
