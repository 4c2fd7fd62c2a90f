package import AppStore
import Entitlements
import Platform
import SignedData
package import Store

/// Proves again what was journaled: its signatures, and that its columns follow from it
/// (promise 3). One per thread.
final class EventProof {
  private let proof: NotificationProof

  init(_ proof: NotificationProof) { self.proof = proof }

  func isProven(_ event: StoredEvent) -> Bool {
    let body = try? proof.decoded(
      event.body, of: event.source, about: event.originalTransactionId, at: event.receivedAt)
    return body.map { event.columnDiffering(from: $0) == nil } ?? false
  }

  func isProven(_ item: HeldEvidence) -> Bool {
    guard SHA256.hash(item.body) == item.bodySHA256 else { return false }
    let body = try? proof.decoded(
      item.body, of: item.source, about: item.stream?.originalTransactionId, at: item.receivedAt)
    return body.map { item.columnDiffering(from: $0) == nil } ?? false
  }
}

extension NotificationProof {
  /// Proves and decodes a body as it is journaled, of a source that Apple signs.
  ///
  /// - Parameters:
  ///   - originalTransactionId: which of a receipt's it is about.
  ///   - now: milliseconds since 1970, for a body that claims no date.
  /// - Throws: as `prove` and `notification`, and `ReceiptProof.notification`.
  package func decoded(
    _ body: [UInt8], of source: EventSource, about originalTransactionId: String?, at now: Int64
  ) throws(Refusal) -> DecodedNotification {
    if source == .receipt {
      return try receipts.notification(body, of: originalTransactionId, at: now)
    }
    return try notification(in: try prove(body[...], at: now), of: source, at: now).decoded
  }
}

extension StoredEvent {
  /// The name of the first column that does not follow from the body, byte by byte; nil if all do.
  package func columnDiffering(from notification: DecodedNotification) -> String? {
    if notificationUUID != notification.notificationUUID { return "notification_uuid" }
    if source != notification.source { return "source" }
    if environment != notification.environment { return "environment" }
    if let bundleId = notification.bundleId ?? (source == .renewal ? bundleId : nil),
      !ByteSearch.areEqual(self.bundleId, bundleId)
    {
      return "bundle_id"
    }
    if !ByteSearch.areEqual(notificationType, notification.notificationType) {
      return "notification_type"
    }
    if !ByteSearch.areEqual(subtype, notification.subtype) { return "subtype" }
    if !ByteSearch.areEqual(originalTransactionId, notification.originalTransactionId) {
      return "original_transaction_id"
    }
    return signedDate == notification.signedDate ? nil : "signed_date_ms"
  }
}

extension HeldEvidence {
  /// The same of held evidence.
  package func columnDiffering(from body: DecodedNotification) -> String? {
    let event = body.foldEvent(seq: 0)
    if notificationUUID != body.notificationUUID { return "notification_uuid" }
    guard let stream, stream.environment == body.environment,
      ByteSearch.areEqual(stream.bundleId, body.bundleId ?? stream.bundleId),
      ByteSearch.areEqual(stream.originalTransactionId, body.originalTransactionId)
    else { return "stream_id" }
    let transaction = source == .receipt ? nil : event.transactions.first?.transactionId
    if !ByteSearch.areEqual(transactionId, transaction) { return "transaction_id" }
    return signedDate == body.signedDate ? nil : "signed_date_ms"
  }
}
