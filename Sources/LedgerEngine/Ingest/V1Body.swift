public import AppStore
import Configuration
import SignedData
public import StrictJSON

/// A V1 body without its secret, in the one form that is hashed and journaled: keys sorted by
/// UTF-8 bytes at every level, no white space, numbers as received.
public struct V1Body {
  /// The canonical text.
  public let bytes: [UInt8]
  /// What deduplicates: V1 has no id of its own, and Apple's retries differ in the receipt alone.
  public let uuid: NotificationUUID

  /// The canonical form of a body whose secret was compared; the secret ends here.
  public init(_ root: JSONElement) {
    self.init(sorted: Self.sorted(root.value, without: ["password"]))
  }

  private init(sorted: JSONValue) {
    bytes = sorted.bytes
    var essence = Self.without(["latest_receipt", "latest_expired_receipt"], sorted)
    if case .object(let members) = essence {
      essence = .object(
        members.map { name, value in
          name == "unified_receipt"
            ? (name, Self.without(["latest_receipt"], value)) : (name, value)
        })
    }
    uuid = Self.uuid(SHA256.hash(essence.bytes))
  }

  /// RFC 9562 section 5.8: version 8, custom; variant 10.
  private static func uuid(_ digest: [UInt8]) -> NotificationUUID {
    var halves: [UInt64] = [0, 0]
    for index in 0..<16 { halves[index / 8] = halves[index / 8] << 8 | UInt64(digest[index]) }
    return NotificationUUID(
      high: halves[0] & ~0xF000 | 0x8000, low: halves[1] & ~(3 << 62) | 1 << 63)
  }

  private static func without(_ names: Set<String>, _ value: JSONValue) -> JSONValue {
    guard case .object(let members) = value else { return value }
    return .object(members.filter { !names.contains($0.0) })
  }

  private static func sorted(_ value: JSONValue, without names: Set<String> = []) -> JSONValue {
    switch value {
    case .array(let values): .array(values.map { sorted($0) })
    case .object(let members):
      .object(
        members.filter { !names.contains($0.0) }
          .sorted { $0.0.utf8.lexicographicallyPrecedes($1.0.utf8) }
          .map { ($0.0, sorted($0.1)) })
    default: value
    }
  }
}

/// V1's only proof: a secret that Apple and we share (promise 3).
struct V1Secrets: Sendable {
  /// SHA-256 of each secret, and the app it is for: two of one app during a rotation.
  private let digests: [(sha256: [UInt8], bundleId: String)]

  init(_ apps: [String: Configuration.App]) {
    digests = apps.values.flatMap { app in
      app.v1SecretDigests.map { (sha256: $0, bundleId: app.bundleId) }
    }
  }

  /// The apps whose secret a body carries; none where it is not one non-empty string.
  ///
  /// All of them are looked at, so that the time taken says nothing about a guess.
  func apps(_ root: JSONElement) -> Set<String> {
    guard let password = root["password"]?.string, !password.isEmpty else { return [] }
    let digest = SHA256.hash(Array(password.utf8))
    var found: Set<String> = []
    for known in digests where SHA256.areSame(known.sha256, digest) {
      found.insert(known.bundleId)
    }
    return found
  }

  /// Whether a member called `password` hides anywhere below the top, where it would be journaled.
  static func isHidden(in root: JSONElement, depth: Int = 0) -> Bool {
    for member in root.members {
      if depth > 0 && member.name == "password" { return true }
      if isHidden(in: member.value, depth: depth + 1) { return true }
    }
    return root.elements.contains { isHidden(in: $0, depth: depth + 1) }
  }
}
