import AppStore
public import Configuration
import Encoding
public import JournalStore
import SignedData

extension LedgerReader.Question {
  /// What a token asks: rows outside its scope are as if they were not there.
  public init(asOf: Int64?, knownAt: Int64?, now: Int64, token: Configuration.ReadToken) {
    self.init(asOf: asOf, knownAt: knownAt, now: now) { key in
      token.covers(environment: key.environment, bundleId: key.bundleId)
    }
  }
}

/// Where a list goes on: a place in key order, bound to who asked, so that a cursor that was cut,
/// made up or given to somebody else is noticed.
public enum PageCursor {
  public static func text(_ key: StreamKey, for token: Configuration.ReadToken) -> String {
    // The id last: it is the one that may hold the separator.
    let fields = [key.environment, key.bundleId, key.originalTransactionId]
    let place = Array(fields.joined(separator: "\u{1F}").utf8)
    return Hexadecimal.encode(seal(place, token) + place)
  }

  /// Nil unless `text(_:for:)` made it for this token.
  public static func key(_ text: String, for token: Configuration.ReadToken) -> StreamKey? {
    guard text.utf8.count <= 4096, let bytes = Hexadecimal.decode(text), bytes.count > 8 else {
      return nil
    }
    let place = Array(bytes.dropFirst(8))
    guard seal(place, token) == Array(bytes.prefix(8)) else { return nil }
    let fields = String(decoding: place, as: UTF8.self)
      .split(separator: "\u{1F}", maxSplits: 2, omittingEmptySubsequences: false)
      .map(String.init)
    guard fields.count == 3 else { return nil }
    return StreamKey(
      environment: fields[0], bundleId: fields[1], originalTransactionId: fields[2])
  }

  private static func seal(_ place: [UInt8], _ token: Configuration.ReadToken) -> [UInt8] {
    Array(SHA256.hash(token.sha256 + place).prefix(8))
  }
}
