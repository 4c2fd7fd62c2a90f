public import AppStore

/// An event read from the journal. Times are milliseconds since 1970 UTC, hashes 32 bytes.
public struct StoredEvent: Sendable, Equatable, StreamEvent {
  public let seq: Int64
  public let notificationUUID: NotificationUUID
  public let source: EventSource
  public let environment: Environment
  public let bundleId: String
  public let notificationType: String
  public let subtype: String?
  public let originalTransactionId: String?
  public let signedDate: Int64
  public let receivedAt: Int64
  /// The exact bytes that the chain covers.
  public let body: [UInt8]
  public let bodySHA256: [UInt8]
  public let hash: [UInt8]

  package init(
    seq: Int64, notificationUUID: NotificationUUID, source: EventSource, environment: Environment,
    bundleId: String,
    notificationType: String, subtype: String?, originalTransactionId: String?, signedDate: Int64,
    receivedAt: Int64, body: [UInt8], bodySHA256: [UInt8], hash: [UInt8]
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
    self.body = body
    self.bodySHA256 = bodySHA256
    self.hash = hash
  }

  /// The event with an empty body, for a caller that holds many events and needs no bodies.
  public var withoutBody: StoredEvent {
    StoredEvent(
      seq: seq, notificationUUID: notificationUUID, source: source, environment: environment,
      bundleId: bundleId, notificationType: notificationType, subtype: subtype,
      originalTransactionId: originalTransactionId, signedDate: signedDate, receivedAt: receivedAt,
      body: [], bodySHA256: bodySHA256, hash: hash)
  }
}

extension StoredEvent {
  init(_ event: PackedEvent, body: [UInt8]) {
    self.init(
      seq: event.seq, notificationUUID: event.notificationUUID, source: event.source,
      environment: event.environment, bundleId: event.bundleId,
      notificationType: event.notificationType, subtype: event.subtype,
      originalTransactionId: event.originalTransactionId, signedDate: event.signedDate,
      receivedAt: event.receivedAt, body: body, bodySHA256: event.bodySHA256, hash: event.hash)
  }
}
