import AppStore
import Configuration
import Entitlements
import JournalStore
import LedgerEngine
import SignedData

/// Checks that held evidence is proven, and that its columns follow from it (promise 3).
enum HeldCheck {
  static func run(
    _ journal: JournalReader, _ configuration: Configuration, _ findings: FindingCollector
  ) throws(StoreError) {
    guard let proof = try? NotificationProof(configuration.trustRoots) else { return }
    var last: Int64 = 0
    while true {
      let batch = try journal.heldEvidence(after: last, limit: 200)
      guard let end = batch.last else { return }
      last = end.id
      var renewals: [HeldEvidence] = []
      for item in batch {
        guard SHA256.hash(item.body) == item.bodySHA256 else {
          findings.add(5, nil, "held evidence \(item.id): the body was changed")
          continue
        }
        do throws(Refusal) {
          if let column = differingColumn(item, try decoded(item, proof)) {
            findings.add(5, nil, "held evidence \(item.id): column \(column) differs from the body")
          } else if item.source == .renewal {
            renewals.append(item)
          }
        } catch {
          findings.add(3, nil, "held evidence \(item.id) is not proven: \(error.code)")
        }
      }
      for item in renewals where try !journal.hasTransaction(item.stream, before: .max) {
        findings.add(
          3, nil,
          "held evidence \(item.id) is renewal information of a customer without a transaction")
      }
    }
  }

  private static func decoded(
    _ item: HeldEvidence, _ proof: NotificationProof
  ) throws(Refusal) -> DecodedNotification {
    if item.source == .receipt {
      return try proof.receipts.notification(
        item.body, of: item.stream?.originalTransactionId, at: item.receivedAt)
    }
    let proven = try proof.prove(item.body[...], at: item.receivedAt)
    return try proof.notification(in: proven, of: item.source, at: item.receivedAt).decoded
  }

  private static func differingColumn(
    _ item: HeldEvidence, _ body: DecodedNotification
  ) -> String? {
    let event = body.foldEvent(seq: 0)
    if item.notificationUUID != body.notificationUUID { return "notification_uuid" }
    guard let stream = item.stream, stream.environment == body.environment,
      stream.bundleId == body.bundleId ?? stream.bundleId,
      stream.originalTransactionId == body.originalTransactionId
    else { return "stream_id" }
    let transaction = item.source == .receipt ? nil : event.transactions.first?.transactionId
    if item.transactionId != transaction { return "transaction_id" }
    return item.signedDate == body.signedDate ? nil : "signed_date_ms"
  }
}
