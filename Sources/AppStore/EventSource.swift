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
  /// An app receipt: PKCS#7 signed by Apple.
  public static let receipt = EventSource(rawValue: "receipt")
  /// The owner of the ledger says whose account a customer has: canonical JSON.
  public static let account = EventSource(rawValue: "account")
  /// The owner grants a customer an entitlement: canonical JSON.
  public static let grant = EventSource(rawValue: "grant")

  /// The owner says which products give which names: canonical JSON.
  public static let catalog = EventSource(rawValue: "catalog")

  /// Every source that this program writes.
  public static let all: [EventSource] = [
    .v2, .v1, .transaction, .renewal, .receipt, .account, .grant, .catalog,
  ]

  /// The names of those whose bodies the owner of the ledger says, as a list in SQL.
  public static let ownersInSQL = all.filter(\.isOwners).map { "'\($0.rawValue)'" }
    .joined(separator: ", ")

  /// The forms of bodies.
  public enum Form: Sendable { case jws, v1, receipt, statement }

  /// The form of its bodies; nil for a source that this program does not write.
  public var form: Form? {
    switch self {
    case .v2, .transaction, .renewal: .jws
    case .v1: .v1
    case .receipt: .receipt
    case .account, .grant, .catalog: .statement
    default: nil
    }
  }

  /// Whether the owner of the ledger says it, not Apple. No row depends on it (promise 3).
  public var isOwners: Bool { form == .statement }
  /// Whether it is a notification.
  public var isNotification: Bool { self == .v2 || self == .v1 }
  /// Whether it is signed by Apple and no notification.
  public var isEvidence: Bool { isSigned && self != .v2 }
  /// Whether Apple signs its bodies, so that anyone can prove them again.
  public var isSigned: Bool { form == .jws || form == .receipt }
  /// Whether every body names its app. Renewal information does not, and is taken as of the app of
  /// its transaction; a version 1 body may not, and is taken as of the app whose secret it carries.
  public var namesApp: Bool { self != .v1 && self != .renewal }
  /// Whether the UUID is derived from what the body says, so that it stands for one content.
  public var hasDerivedUUID: Bool { self == .v1 || isEvidence }
}
