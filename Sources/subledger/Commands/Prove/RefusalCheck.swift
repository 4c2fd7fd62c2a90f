import API
import Audit
import Platform
import Store
import StrictJSON

/// What `doctor` says of what a running daemon refused, by code. A refusal that a mistake of the
/// owner's can cause is a finding, unless it is in quarantine, which has its own. The others are in
/// no file: nothing that is not proven is kept.
enum RefusalCheck {
  static func examine(_ folder: DataFolder) -> [DoctorCheck] {
    guard let answer = try? ControlClient(folder)?.get("/control/refusals"), answer.status == 200,
      let since = answer.body["started_at"]?.integer
    else { return [] }
    let start = Timestamp.text(since)
    return (answer.body["refusals"]?.members ?? []).compactMap { code, count in
      guard let count = count.integer, count > 0 else { return nil }
      return check(code, count, since: start)
    }.sorted { $0.what < $1.what }
  }

  private static func check(_ code: String, _ count: Int64, since start: String) -> DoctorCheck {
    let entry = RefusalEntry.counted(code)
    let counted = "\(CountText.of(count, "refusals")) since \(start)"
    let what = "\(VisibleText.of(code)): \(counted). \(entry?.meaning ?? "")"
    guard let entry, entry.isOwnerFault, entry.status != 422 else {
      return DoctorCheck("refusals", what)
    }
    return DoctorCheck(
      "refusals", what,
      next: "\(entry.next) Reload. Apple may not send them again, so then: subledger recover "
        + "--since \(start)" + (entry.isOfVersion1 ? version1 : ""))
  }

  private static let version1 =
    ", and subledger reconcile --all, because Apple's history has version 2 alone"
}
