import AppStore
import Ledger
import Platform
import SignedData
import Store

/// Checks that quarantined notifications are genuine, and that their columns follow from their
/// bodies: others were not put there by the daemon (promise 3).
extension Check {
  static let quarantine = Check { (journal, run) throws(LedgerError) in
    let proof = try run.proof()
    var last: Int64 = 0
    while true {
      let batch = try journal.quarantined(after: last, limit: 200)
      guard let end = batch.last else { return }
      let names = try journal.originalTransactionIds(of: last + 1...end.id)
      last = end.id
      for item in batch { check(item, names[item.id], proof, run) }
    }
  }

  /// - Parameter name: whom it is about; nil if it names nobody.
  private static func check(
    _ item: StoredQuarantine, _ name: String??, _ proof: NotificationProof?, _ run: CheckRun
  ) {
    guard SHA256.hash(item.body) == item.bodySHA256 else {
      return run.add(5, nil, "quarantine \(item.id): the body was changed")
    }
    let differing = QuarantineClaims.differences(
      from: item, originalTransactionId: name ?? nil, isNamed: name != nil)
    for column in differing {
      run.add(5, nil, "quarantine \(item.id): column \(column) differs from the body")
    }
    guard let proof, item.source.isSigned else { return }
    do throws(Refusal) {
      if item.source.form == .receipt {
        _ = try proof.receipts.prove(item.body, at: item.receivedAt)
      } else {
        _ = try proof.prove(item.body[...], at: item.receivedAt)
      }
    } catch {
      run.add(3, nil, "quarantine \(item.id) is not proven: \(error.code)")
    }
  }
}
