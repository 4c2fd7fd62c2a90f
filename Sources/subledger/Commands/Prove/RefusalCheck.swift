import API
import Audit
import Platform
import Store
import StrictJSON

/// What `doctor` says of what a running daemon refused, by code. A refusal that a mistake of the
/// owner's can cause is a finding, unless it is in quarantine, which has its own. The others are in
/// no file: nothing that is not proven is kept.
extension Doctor {
  func examineRefusals() {
    guard let answer = try? ControlClient(folder)?.get("/control/refusals"), answer.status == 200,
      let since = answer.body["started_at"]?.integer
    else { return }
    let start = Timestamp.text(since)
    let counts = (answer.body["refusals"]?.members ?? []).sorted { $0.0 < $1.0 }
    for (code, count) in counts {
      guard let count = count.integer, count > 0 else { continue }
      examine(code, count, since: start)
    }
  }

  private func examine(_ code: String, _ count: Int64, since start: String) {
    let entry = RefusalEntry.counted(code)
    let counted = "\(CountText.of(count, "refusals")) since \(start)"
    let what = "\(VisibleText.of(code)): \(counted). \(entry?.meaning ?? "")"
    guard let entry, entry.isOwnerFault, entry.status != 422 else { return report(what) }
    reportFinding(
      what,
      next: "\(entry.next) Reload. Apple may not send them again, so then: subledger recover "
        + "--since \(start)" + (entry.isOfVersion1 ? Self.version1 : ""))
  }

  private static let version1 =
    ", and subledger reconcile --all, because Apple's history has version 2 alone"
}
