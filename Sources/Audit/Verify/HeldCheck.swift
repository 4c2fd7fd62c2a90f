import AppStore
import Entitlements
import Ledger
import Platform
import SignedData
import Store

/// Checks that held evidence is proven, and that its columns follow from it (promise 3).
enum HeldCheck {
  static func run(
    _ journal: JournalReader, _ configuration: Configuration, _ findings: FindingCollector
  ) throws(LedgerError) {
    guard let proof = try? EventProof(try NotificationProof(configuration.trustRoots)) else {
      return
    }
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
          if let column = try proof.columnDiffering(item) {
            findings.add(5, nil, "held evidence \(item.id): column \(column) differs from the body")
          } else if !item.source.namesApp {
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
}
