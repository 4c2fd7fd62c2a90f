/// How an event is proven, and so which form its body has.
///
/// A structure rather than an enumeration, because a damaged journal can hold any text.
public struct EventSource: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
  /// As in the column `source` and in the hash chain.
  public let rawValue: String

  public init(rawValue: String) { self.rawValue = rawValue }

  /// The name, for messages.
  public var description: String { rawValue }

  /// An App Store Server Notification, version 2: a JWS signed by Apple.
  public static let v2 = EventSource(rawValue: "v2")
  /// Version 1: JSON that carried the app's shared secret.
  public static let v1 = EventSource(rawValue: "v1")
  /// A transaction outside of a notification: a JWS signed by Apple.
  public static let transaction = EventSource(rawValue: "transaction")
  /// Renewal information outside of a notification: a JWS signed by Apple.
  public static let renewal = EventSource(rawValue: "renewal")

  /// The owner of the ledger says whose account a customer has: canonical JSON.
  public static let account = EventSource(rawValue: "account")
  /// The owner grants a customer an entitlement: canonical JSON.
  public static let grant = EventSource(rawValue: "grant")

  /// Every source that this program writes.
  public static let all: [EventSource] = [
    .v2, .v1, .transaction, .renewal, .receipt, .account, .grant,
  ]

  /// Whether the owner of the ledger says it, not Apple. No row depends on it (promise 3).
  public var isOwners: Bool { self == .account || self == .grant }
  /// An app receipt: PKCS#7 signed by Apple.
  public static let receipt = EventSource(rawValue: "receipt")

  /// Whether it is a notification.
  public var isNotification: Bool { self == .v2 || self == .v1 }
  /// Whether it is signed by Apple and no notification.
  public var isEvidence: Bool { self == .transaction || self == .renewal || self == .receipt }
}
