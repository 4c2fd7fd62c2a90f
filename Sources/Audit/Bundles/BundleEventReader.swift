import AppStore
import Ledger
import Platform
import SignedData
import Store
import StrictJSON

/// Reads the events of a bundle and proves each of them again.
struct BundleEventReader {
  private let proof: EventProof

  init(_ proof: EventProof) { self.proof = proof }

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
    let filed = EventEnvelope(
      notificationUUID: link.notificationUUID, source: link.source, environment: key.environment,
      bundleId: key.bundleId, notificationType: "", subtype: nil,
      originalTransactionId: key.originalTransactionId, signedDate: 0, receivedAt: link.receivedAt)
    // A bundle does not say which build filed a V1 body.
    let envelope = try proof.envelope(of: body, filed: filed, isFormer: true)
    let event = StoredEvent(
      seq: link.seq, envelope: envelope, body: body, bodySHA256: link.bodySHA256, hash: hash)
    guard event.streamKey == key, event.notificationUUID == link.notificationUUID
    else { return nil }
    return event
  }
}
