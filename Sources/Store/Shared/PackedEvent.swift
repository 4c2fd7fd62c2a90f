public import AppStore

/// An event on its way between journals, with its body as it is stored. Times are milliseconds
/// since 1970 UTC, hashes 32 bytes.
public struct PackedEvent: Sendable, Equatable, StreamEvent {
  public let seq: Int64
  public let notificationUUID: NotificationUUID
  public let source: EventSource
  public let environment: Environment
  public let bundleId: String
  public let notificationType: String
  public let subtype: String?
  /// nil for an event without a transaction.
  public let originalTransactionId: String?
  public let signedDate: Int64
  public let receivedAt: Int64
  public let bodySHA256: [UInt8]
  public let hash: [UInt8]
  /// The dictionary that `body` is compressed against.
  public let dictionary: Int64?
  /// The stored form, as `BodyCodec` made it: never decoded or packed again on its way.
  public let body: [UInt8]

  public init(
    seq: Int64, notificationUUID: NotificationUUID, source: EventSource, environment: Environment,
    bundleId: String, notificationType: String, subtype: String?, originalTransactionId: String?,
    signedDate: Int64, receivedAt: Int64, bodySHA256: [UInt8], hash: [UInt8], dictionary: Int64?,
    body: [UInt8]
  ) {
    self.seq = seq
    self.notificationUUID = notificationUUID
    self.source = source
    self.environment = environment
    self.bundleId = bundleId
    self.notificationType = notificationType
    self.subtype = subtype
    self.originalTransactionId = originalTransactionId
    self.signedDate = signedDate
    self.receivedAt = receivedAt
    self.bodySHA256 = bodySHA256
    self.hash = hash
    self.dictionary = dictionary
    self.body = body
  }

  /// What its chain hash covers.
  public var link: ChainLink {
    ChainLink(
      seq: seq, notificationUUID: notificationUUID, source: source, receivedAt: receivedAt,
      bodySHA256: bodySHA256)
  }
}

/// A dictionary of `DictionaryStore` on its way between journals, with the id that it has in all of
/// them.
public struct PackedDictionary: Sendable, Equatable {
  public let id: Int64
  /// The key by which it is found.
  public let headerSHA256: [UInt8]
  public let bytes: [UInt8]
  public let sha256: [UInt8]

  public init(id: Int64, headerSHA256: [UInt8], bytes: [UInt8], sha256: [UInt8]) {
    self.id = id
    self.headerSHA256 = headerSHA256
    self.bytes = bytes
    self.sha256 = sha256
  }
}
