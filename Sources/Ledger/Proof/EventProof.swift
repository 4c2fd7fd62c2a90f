package import AppStore
import Entitlements
package import Platform
import SignedData
package import Store
import StrictJSON

/// Reads again what was journaled: proves it, and says which columns follow from it (promise 3).
/// One per thread.
package final class EventProof {
  /// Nil if signatures are not to be checked.
  private let proof: NotificationProof?
  /// Proves as `proof` does; without signatures to check, it only reads.
  package let receipts: ReceiptProof

  /// - Parameter proof: nil if signatures are not to be checked: they were before the bodies were
  ///   journaled.
  /// - Throws: as `ReceiptProof`, which throws nothing without roots.
  package init(_ proof: NotificationProof?) throws(LedgerError) {
    self.proof = proof
    receipts = if let proof { proof.receipts } else { try ReceiptProof(nil) }
  }

  /// The columns of an event, as they follow from its body.
  ///
  /// - Parameters:
  ///   - filed: the columns that it has. What a body does not say is taken from them: the app of
  ///     renewal information and of some V1 bodies, and which of a receipt's customers is meant.
  ///   - isFormer: whether a former build may have filed it.
  ///   - known: the body, if it is proven already.
  /// - Throws: `Refusal` if it is not proven, or is no body of its source.
  package func envelope(
    of body: [UInt8], filed: EventEnvelope, isFormer: Bool = false,
    known: NotificationProof.ProvenJWS? = nil
  ) throws(Refusal) -> EventEnvelope {
    switch filed.source.form {
    case .statement:
      guard let statement = OwnerStatement(body: body), statement.source == filed.source else {
        throw .notAdmitted("payload_shape")
      }
      return statement.envelope(receivedAt: filed.receivedAt)
    case .v1: return try v1(body, filed, isFormer).envelope(filed)
    case .receipt, .jws, nil:
      return try signed(
        body, of: filed.source, about: filed.originalTransactionId, at: filed.receivedAt, known,
        filed: (filed.bundleId, filed.environment)
      ).envelope(filed)
    }
  }

  /// Proves and decodes a body of a source that Apple signs.
  ///
  /// - Parameters:
  ///   - originalTransactionId: which of a receipt's it is about.
  ///   - now: milliseconds since 1970, for a body that claims no date.
  ///   - filed: as `NotificationPayload` takes it.
  /// - Throws: as `envelope`.
  package func signed(
    _ body: [UInt8], of source: EventSource, about originalTransactionId: String?, at now: Int64,
    _ known: NotificationProof.ProvenJWS? = nil, filed: NotificationPayload.Filed? = nil
  ) throws(Refusal) -> DecodedNotification {
    if source.form == .receipt {
      return try receipts.notification(body, of: originalTransactionId, at: now)
    }
    guard source.form == .jws else { throw .notAdmitted("payload_shape") }
    guard let proof else {
      return try JournaledNotification.decode(
        signedPayload: body[...], of: source, filed: filed)
    }
    let proven: NotificationProof.ProvenJWS
    if let known { proven = known } else { proven = try proof.prove(body[...], at: now) }
    return try proof.notification(in: proven, of: source, filed: filed, at: now).decoded
  }

  /// A V1 event was authentic by a secret that is not stored; that its body has the canonical form
  /// can be checked again. A former build filed a body that does not name its stream by another
  /// rule, and there it stays.
  private func v1(
    _ body: [UInt8], _ filed: EventEnvelope, _ isFormer: Bool
  ) throws(Refusal) -> DecodedNotification {
    guard let root = try? JSONDocument(parsing: body).root,
      var notification = try? V1Notification(root)
    else { throw .notAdmitted("payload_shape") }
    let canonical = V1Body(root)
    guard canonical.bytes == body else { throw .notAdmitted("payload_shape") }
    let stream = filed.originalTransactionId
    if isFormer, !ByteSearch.areEqual(notification.originalTransactionId, stream),
      ByteSearch.areEqual(notification.formerOriginalTransactionId, stream),
      let former = try? V1Notification(root, of: stream)
    {
      notification = former
    }
    return DecodedNotification(notification, uuid: canonical.uuid, receiptDate: 0)
  }

  func isProven(_ event: StoredEvent) -> Bool {
    let envelope = try? envelope(of: event.body, filed: event.envelope)
    return envelope.map { event.envelope.columnDiffering(from: $0) == nil } ?? false
  }

  func isProven(_ item: HeldEvidence) -> Bool {
    SHA256.hash(item.body) == item.bodySHA256 && (try? columnDiffering(item)) == .some(nil)
  }

  /// The name of the first column of held evidence that does not follow from its body, byte by
  /// byte; nil if all do.
  ///
  /// - Throws: as `envelope`.
  package func columnDiffering(_ item: HeldEvidence) throws(Refusal) -> String? {
    let body = try signed(
      item.body, of: item.source, about: item.stream?.originalTransactionId, at: item.receivedAt)
    if item.notificationUUID != body.notificationUUID { return "notification_uuid" }
    guard let stream = item.stream, stream.environment == body.environment,
      ByteSearch.areEqual(stream.bundleId, body.bundleId ?? stream.bundleId),
      ByteSearch.areEqual(stream.originalTransactionId, body.originalTransactionId)
    else { return "stream_id" }
    let transactions = body.foldEvent(seq: 0).transactions
    let transaction = item.source.form == .receipt ? nil : transactions.first?.transactionId
    if !ByteSearch.areEqual(item.transactionId, transaction) { return "transaction_id" }
    return item.signedDate == body.signedDate ? nil : "signed_date_ms"
  }
}

extension DecodedNotification {
  /// The columns of a journaled event, of which those that the body does not say stay.
  fileprivate func envelope(_ filed: EventEnvelope) -> EventEnvelope {
    envelope(of: bundleId ?? filed.bundleId, receivedAt: filed.receivedAt)
  }
}
