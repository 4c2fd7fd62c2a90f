public import AppStore
public import Ledger
import Platform
import SignedData
import Store

/// The `after` of a list of rows: the key of the last row that was shown, behind a checksum over
/// that key and the token's hash.
///
/// The key alone would be enough to find the next page, and rows outside a token's scope are
/// filtered in any case. The checksum is there because a cursor that lost its last characters is
/// still a valid key, of another row: the list would silently start again from there. With it a
/// cursor that was cut, altered or made for another token is refused as a bad `after`.
public enum PageCursor {
  /// Bytes of the checksum.
  private static let checksumLength = 8
  /// Separates the fields of a key.
  private static let separator: Character = "\u{1F}"

  /// The cursor in hexadecimal, for a token.
  public static func text(_ key: StreamKey, for token: Configuration.ReadToken) -> String {
    // The original transaction id is last, because it may contain the separator.
    let fields = [key.environment.rawValue, key.bundleId, key.originalTransactionId]
    let encoded = Array(fields.joined(separator: String(separator)).utf8)
    return Hexadecimal.encode(checksum(encoded, token) + encoded)
  }

  /// Returns nil unless `text(_:for:)` made the text for this token.
  public static func key(_ text: String, for token: Configuration.ReadToken) -> StreamKey? {
    guard text.utf8.count <= 4096, let bytes = Hexadecimal.decode(text),
      bytes.count > checksumLength
    else { return nil }
    let encoded = Array(bytes.dropFirst(checksumLength))
    guard checksum(encoded, token) == Array(bytes.prefix(checksumLength)) else { return nil }
    let fields = String(decoding: encoded, as: UTF8.self)
      .split(separator: separator, maxSplits: 2, omittingEmptySubsequences: false)
      .map(String.init)
    guard fields.count == 3 else { return nil }
    return StreamKey(
      environment: Environment(rawValue: fields[0]), bundleId: fields[1],
      originalTransactionId: fields[2])
  }

  private static func checksum(_ key: [UInt8], _ token: Configuration.ReadToken) -> [UInt8] {
    Array(SHA256.hash(token.sha256 + key).prefix(checksumLength))
  }
}
