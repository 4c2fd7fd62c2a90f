import AppStore
import Ledger
import Platform
import SignedData
import Store

/// Checks that quarantined notifications are genuine, and that their columns follow from their
/// bodies: others were not put there by the daemon (promise 3).
enum QuarantineCheck {
  static func run(
    _ journal: JournalReader, _ configuration: Configuration, _ findings: FindingCollector
  ) throws(LedgerError) {
    guard let proof = try? NotificationProof(configuration.trustRoots) else { return }
    try run(journal, proof, findings)
  }

  /// - Parameter proof: nil if signatures are not to be checked.
  static func run(
    _ journal: JournalReader, _ proof: NotificationProof?, _ findings: FindingCollector
  ) throws(LedgerError) {
    var last: Int64 = 0
    while true {
      let batch = try journal.quarantined(after: last, limit: 200)
      let names = try batch.last.map { (item) throws(LedgerError) in
        try journal.originalTransactionIds(of: last + 1...item.id)
      }
      for item in batch {
        last = item.id
        guard SHA256.hash(item.body) == item.bodySHA256 else {
          findings.add(5, nil, "quarantine \(item.id): the body was changed")
          continue
        }
        let name = names?[item.id]
        let differing = QuarantineClaims.differences(
          from: item, originalTransactionId: name ?? nil, isNamed: name != nil)
        for column in differing {
          findings.add(5, nil, "quarantine \(item.id): column \(column) differs from the body")
        }
        guard let proof, item.source.isSigned else { continue }
        do throws(Refusal) {
          if item.source.form == .receipt {
            _ = try proof.receipts.prove(item.body, at: item.receivedAt)
          } else {
            _ = try proof.prove(item.body[...], at: item.receivedAt)
          }
        } catch {
          findings.add(3, nil, "quarantine \(item.id) is not proven: \(error.code)")
        }
      }
      if batch.isEmpty { return }
    }
  }
}
