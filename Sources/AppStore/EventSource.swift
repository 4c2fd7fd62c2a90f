/// How an event is proven, and so which form its body has: all that is known of a source is
/// declared here. One more that Apple signs is a value, named in `all`; what the owner says is read
/// and written by `OwnerStatement`.
///
/// A structure rather than an enumeration, because a damaged journal can hold any text.
public struct EventSource: Sendable, CustomStringConvertible {
  /// As in the column `source` and in the hash chain.
  public let rawValue: String
  /// The form of its bodies; nil for a source that this program does not write.
  public let form: Form?
  /// What its bodies are, if they are JWS and no notifications.
  public let evidenceJWS: EvidenceJWS?

  /// The forms of bodies.
  public enum Form: Sendable {
    /// A JWS that Apple signed.
    case jws
    /// JSON of version 1, without the app's shared secret.
    case v1
    /// PKCS#7 that Apple signed.
    case receipt
    /// Canonical JSON, said by the owner of the ledger.
    case statement
  }

  /// What a JWS of Apple's is that came outside of a notification.
  public struct EvidenceJWS: Sendable {
    public enum Payload: Sendable { case transaction, renewalInfo }

    public let payload: Payload
    /// In the place of Apple's notificationType.
    public let notificationType: String
    let words: String
    /// The member that has it in the body of a line of NDJSON.
    public let member: String
  }

  private init(_ name: String, _ form: Form?, _ evidenceJWS: EvidenceJWS? = nil) {
    (rawValue, self.form, self.evidenceJWS) = (name, form, evidenceJWS)
  }

  /// The source with this name, or one that this program does not write.
  public init(rawValue: String) {
    self = Self.all.first { $0.rawValue == rawValue } ?? EventSource(rawValue, nil)
  }

  /// An App Store Server Notification, version 2.
  public static let v2 = EventSource("v2", .jws)
  /// Version 1 of them.
  public static let v1 = EventSource("v1", .v1)
  /// A transaction outside of a notification.
  public static let transaction = EventSource(
    "transaction", .jws,
    EvidenceJWS(
      payload: .transaction, notificationType: "TRANSACTION_INFO",
      words: "Apple signed: the transaction as of then", member: "signedTransactionInfo"))
  /// Renewal information outside of a notification.
  public static let renewal = EventSource(
    "renewal", .jws,
    EvidenceJWS(
      payload: .renewalInfo, notificationType: "RENEWAL_INFO",
      words: "Apple signed: the renewal as of then", member: "signedRenewalInfo"))
  /// An app receipt.
  public static let receipt = EventSource("receipt", .receipt)
  /// The owner of the ledger says whose account a customer has.
  public static let account = EventSource("account", .statement)
  /// The owner grants a customer an entitlement.
  public static let grant = EventSource("grant", .statement)
  /// The owner says which products give which names.
  public static let catalog = EventSource("catalog", .statement)
  /// What the owner says and does about requests of customers for refunds.
  public static let refund = EventSource("refund", .statement)

  /// Every source that this program writes.
  public static let all: [EventSource] = [
    .v2, .v1, .transaction, .renewal, .receipt, .account, .grant, .catalog,
    .refund,
  ]

  /// The names of those whose bodies the owner of the ledger says, as a list in SQL.
  public static let ownersInSQL = all.filter(\.isOwners).map { "'\($0.rawValue)'" }
    .joined(separator: ", ")

  /// The name, for messages.
  public var description: String { rawValue }
}

extension EventSource: Hashable {
  public static func == (one: Self, other: Self) -> Bool { one.rawValue == other.rawValue }
  public func hash(into hasher: inout Hasher) { hasher.combine(rawValue) }
}

// MARK: What follows

extension EventSource {
  /// Whether the owner of the ledger says it, not Apple. No row depends on it (promise 3).
  public var isOwners: Bool { form == .statement }
  /// Whether it is a notification.
  public var isNotification: Bool { self == .v2 || self == .v1 }
  /// Whether it is signed by Apple and no notification.
  public var isEvidence: Bool { evidenceJWS != nil || form == .receipt }
  /// Whether Apple signs its bodies, so that anyone can prove them again.
  public var isSigned: Bool { form == .jws || form == .receipt }
  /// Whether every body names its app. Renewal information does not, and is taken as of the app of
  /// its transaction; a version 1 body may not, and is taken as of the app whose secret it carries.
  public var namesApp: Bool { form != .v1 && evidenceJWS?.payload != .renewalInfo }
  /// Whether the UUID is derived from what the body says, so that it stands for one content.
  public var hasDerivedUUID: Bool { form == .v1 || isEvidence }
}
