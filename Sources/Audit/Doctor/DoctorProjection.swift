import AppStore
import Entitlements
import Ledger
import Platform
import Store

/// The live projection: its fold, and how far it is behind the journal.
extension Doctor {
  func examineProjection() throws(LedgerError) {
    guard let seq = try journal?.head().seq else { return }
    let path: String
    switch try ProjectionChoice.find(folder, try JournalReader.open(folder), isReading: true) {
    case .own(let found), .other(let found): path = found
    case .none:
      guard seq > 0 else { return report("none yet") }
      return reportFinding(
        "no rows can be read: lists answer 503",
        next: "start the daemon, which builds them, or run subledger rebuild --apply")
    }
    let projection = try openProjection(path)
    let identity = try projection.identity()
    let lag = seq - (try projection.foldedThrough())
    let isOwn = identity.fingerprint == folder.fold.fingerprint
    report(
      "fold \(identity.foldVersion) is live, \(lag) event\(lag == 1 ? "" : "s") behind the journal"
        + (isOwn ? "" : "; this program has another fold, \(folder.fold.version)"))
    if !isOwn {
      reportFinding(
        "the live projection is of another fold than this program's",
        next: "start the daemon with this program, or run subledger rebuild --diff to see what "
          + "would change")
    }
  }

  /// Rows that an event made odd.
  func examineRows() throws(LedgerError) {
    guard let projection else { return }
    if let odd = try projection.anomalous(limit: 1).first {
      let id = VisibleText.word(odd.key.originalTransactionId)
      reportFinding(
        "at least one customer has a transaction with an impossible date, price or quantity, such "
          + "as a subscription or an unknown kind without an end, which gives no access: \(id)",
        next: "run subledger explain \(id); the column anomaly of entitlement_v1 finds all")
    }
    if let broken = try projection.broken(limit: 1).first?.broken {
      reportFinding(
        "the fold of at least one customer failed: \(VisibleText.of(broken))",
        next: "run subledger verify, which tells whether the journal is damaged")
    }
  }
}
