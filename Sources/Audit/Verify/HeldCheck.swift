import AppStore
import Entitlements
import Ledger
import Platform
import SignedData
import Store

/// Checks that held evidence is proven, and that its columns follow from it (promise 3).
extension Check {
  static let held = Check { (journal, run) throws(LedgerError) in
    let proof = try EventProof(try run.proof())
    var last: Int64 = 0
    while true {
      let batch = try journal.heldEvidence(after: last, limit: 200)
      guard let end = batch.last else { return }
      last = end.id
      let renewals = batch.filter { item in
        isGood(item, proof, run) && !item.source.namesApp
      }
      for item in renewals where try !journal.hasTransaction(item.stream, before: .max) {
        run.add(
          3, nil,
          "held evidence \(item.id) is renewal information of a customer without a transaction")
      }
    }
  }

  private static func isGood(_ item: HeldEvidence, _ proof: EventProof, _ run: CheckRun) -> Bool {
    guard SHA256.hash(item.body) == item.bodySHA256 else {
      run.add(5, nil, "held evidence \(item.id): the body was changed")
      return false
    }
    do throws(Refusal) {
      guard let column = try proof.columnDiffering(item) else { return true }
      run.add(5, nil, "held evidence \(item.id): column \(column) differs from the body")
    } catch {
      run.add(3, nil, "held evidence \(item.id) is not proven: \(error.code)")
    }
    return false
  }
}
