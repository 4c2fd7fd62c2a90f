import AppStore
import Ledger
import Platform
import SignedData
import Store
import StrictJSON

/// Reads the events of a bundle and proves each of them again.
struct BundleEventReader {
  private let proof: NotificationProof

  init(_ proof: NotificationProof) { self.proof = proof }

  /// What the chain hash covers of a line `event` or `link`; nil if a member is missing.
  static func link(_ root: JSONElement, isEvent: Bool) -> ChainLink? {
    let body = isEvent ? Bundle.body(root).map(SHA256.hash) : nil
    guard let seq = root["seq"]?.integer, let receivedAt = root["received_at_ms"]?.integer,
      let uuid = root["notification_uuid"]?.string.flatMap({ NotificationUUID($0) }),
      let source = root["source"]?.string,
      let bodySHA256 = body ?? digest(root["body_sha256"])
    else { return nil }
    return ChainLink(
      seq: seq, notificationUUID: uuid, source: EventSource(rawValue: source),
      receivedAt: receivedAt,
      bodySHA256: bodySHA256)
  }

  /// A SHA-256 in hexadecimal; nil for anything else.
  static func digest(_ member: JSONElement?) -> [UInt8]? {
    member?.string.flatMap(Hexadecimal.decode).flatMap { $0.count == 32 ? $0 : nil }
  }

  /// The event as it follows from its body; nil if the body is of another customer, or does not
  /// match the link.
  ///
  /// - Throws: `Refusal` if the body is not proven.
  func event(
    _ link: ChainLink, _ body: [UInt8], _ hash: [UInt8], of key: StreamKey
  ) throws(Refusal) -> StoredEvent? {
    let event: StoredEvent? =
      if link.source.isOwners {
        owners(link, body, hash)
      } else if link.source == .v1 {
        v1(link, body, hash, key)
      } else {
        try signed(link, body, hash, key)
      }
    guard let event, event.streamKey == key, event.notificationUUID == link.notificationUUID
    else { return nil }
    return event
  }

  private func signed(
    _ link: ChainLink, _ body: [UInt8], _ hash: [UInt8], _ key: StreamKey
  ) throws(Refusal) -> StoredEvent? {
    guard link.source == .v2 || link.source.isEvidence,
      let notification = try decoded(link, body, key)
    else { return nil }
    return StoredEvent(
      seq: link.seq,
      envelope: EventEnvelope(
        notificationUUID: notification.notificationUUID, source: link.source,
        environment: notification.environment, bundleId: notification.bundleId ?? key.bundleId,
        notificationType: notification.notificationType, subtype: notification.subtype,
        originalTransactionId: notification.originalTransactionId,
        signedDate: notification.signedDate, receivedAt: link.receivedAt), body: body,
      bodySHA256: link.bodySHA256, hash: hash)
  }

  private func owners(_ link: ChainLink, _ body: [UInt8], _ hash: [UInt8]) -> StoredEvent? {
    guard let statement = OwnerStatement(body: body), statement.source == link.source else {
      return nil
    }
    return StoredEvent(
      seq: link.seq,
      envelope: EventEnvelope(
        notificationUUID: NotificationUUID(statement), source: link.source,
        environment: statement.environment, bundleId: statement.bundleId,
        notificationType: statement.notificationType, subtype: nil,
        originalTransactionId: statement.originalTransactionId, signedDate: statement.at,
        receivedAt: link.receivedAt), body: body, bodySHA256: link.bodySHA256, hash: hash)
  }

  /// Nil if the payload is not JSON.
  private func decoded(
    _ link: ChainLink, _ body: [UInt8], _ key: StreamKey
  ) throws(Refusal) -> DecodedNotification? {
    if link.source == .receipt {
      return try proof.receipts.notification(
        body, of: key.originalTransactionId, at: link.receivedAt)
    }
    let proven = try proof.prove(body[...], at: link.receivedAt)
    guard proven.document != nil else { return nil }
    return try proof.notification(in: proven, of: link.source, at: link.receivedAt).decoded
  }

  private func v1(
    _ link: ChainLink, _ body: [UInt8], _ hash: [UInt8], _ key: StreamKey
  ) -> StoredEvent? {
    // It may be filed by the rule of a former build, and a bundle does not say which build did.
    let stream = key.originalTransactionId
    guard let root = try? JSONDocument(parsing: body).root,
      let named = try? V1Notification(root),
      [named.originalTransactionId, named.formerOriginalTransactionId].contains(stream),
      let notification = try? V1Notification(root, of: stream)
    else { return nil }
    return StoredEvent(
      seq: link.seq,
      envelope: EventEnvelope(
        notificationUUID: V1Body(root).uuid, source: link.source,
        environment: notification.environment, bundleId: notification.bundleId ?? key.bundleId,
        notificationType: notification.notificationType, subtype: nil,
        originalTransactionId: notification.originalTransactionId,
        signedDate: notification.evidenceDate, receivedAt: link.receivedAt), body: body,
      bodySHA256: link.bodySHA256, hash: hash)
  }
}
