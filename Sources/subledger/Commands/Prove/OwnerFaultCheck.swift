import Audit
import Platform
import Store
import StrictJSON

/// What `doctor` says of notifications that a running daemon refused, where that may be the owner's
/// mistake. They are in no file: nothing that is not proven is kept.
enum OwnerFaultCheck {
  static func examine(_ folder: DataFolder) -> [DoctorCheck] {
    guard let answer = try? ControlClient(folder)?.get("/control/refusals"), answer.status == 200,
      let since = answer.body["started_at"]?.integer
    else { return [] }
    let counts = answer.body["refusals"]
    return faults.compactMap { fault in
      guard let count = counts?[fault.reason]?.integer, count > 0 else { return nil }
      let start = Timestamp.text(since)
      return DoctorCheck(
        "refusals",
        "\(CountText.of(count, "notifications")) since \(start) \(fault.what) (\(fault.reason))",
        next: "\(fault.next); Apple may not send them again, so then: subledger recover --since "
          + start + fault.more)
    }
  }

  private struct Fault {
    let reason: String
    let what: String
    let next: String
    var more = ""
  }

  private static let faults = [
    Fault(
      reason: "v1_secret", what: "had no shared secret of the configuration, as version 1 needs",
      next: "unless strangers sent them, compare \"v1SharedSecretFile\" with the shared secret in "
        + "App Store Connect, and reload",
      more: ", and subledger reconcile --all, because Apple's history has version 2 alone"),
    Fault(
      reason: "chain_root", what: "were signed under a root that is not trusted", next: root),
    Fault(
      reason: "chain_path", what: "lead to no trusted root, though one has that name", next: root),
  ]

  private static let root =
    "unless strangers sent them, add the root of your test server to \"trustRoots\", or install a "
    + "newer version, which knows Apple's newer root, and reload"
}
