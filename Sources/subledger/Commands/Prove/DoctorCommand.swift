import Audit
import Ledger
import Platform
import Store
import StrictJSON

/// `doctor`: checks the installation, and says what to do about each finding.
enum DoctorCommand {
  static let flags: [Command.Flag] = [
    .init("--offline", "do not ask Apple whether it accepts the keys of appStore"), .json,
  ]

  private static func list(_ arguments: Arguments) -> [Examination] {
    let isOffline = arguments.has("--offline")
    return Doctor.all + [
      Examination("shared journal", Doctor.examineSharedJournal),
      Examination("daemon", isOfFolder: true, Doctor.examineDaemon),
      Examination("refusals", Doctor.examineRefusals),
      Examination("sinks", Doctor.examineDeliveries),
      Examination("app store") { doctor in
        {
          let checks = AppStoreKeyCheck.examine(doctor.configuration, isOffline: isOffline)
          checks.forEach(doctor.report)
        }
      },
    ]
  }

  static func run(_ arguments: Arguments) throws(LedgerError) -> ExitCode {
    try arguments.requireNoOperand()
    becomeOwner(arguments)
    var checks: [DoctorCheck] = []
    let (list, now) = (list(arguments), Clock.now())
    do throws(LedgerError) {
      checks = Doctor.examine(
        try arguments.configuration(), file: arguments.configurationFile, at: now, list)
    } catch {
      guard error.code == .configuration else { throw error }
      checks = [DoctorCheck("configuration", error.message, next: error.next ?? "")]
      let readable = try arguments.partialConfiguration()
      if !readable.missing.contains(.data) {
        checks += Doctor.examine(
          readable.configuration, file: nil, at: now, list.filter(\.isOfFolder))
      }
    }
    show(checks, asJSON: arguments.has("--json"))
    if checks.contains(where: \.isNewer) { return .newer }
    return checks.contains(where: \.isFinding) ? .findings : .good
  }

  /// As root, what the daemon may do is found out as the user who owns its folder: root may read
  /// and write everything.
  private static func becomeOwner(_ arguments: Arguments) {
    guard let readable = try? arguments.partialConfiguration(), !readable.missing.contains(.data),
      let user = UserName.becomeOwner(of: readable.configuration.data)
    else { return }
    Terminal.error("subledger doctor: looks as \(user) does, who owns the data folder")
  }

  private static func show(_ checks: [DoctorCheck], asJSON: Bool) {
    let count = checks.count(where: \.isFinding)
    if asJSON {
      for check in checks { Terminal.print(check.json) }
      return Terminal.print(
        .object([("object", .string("diagnosis")), ("findings", .integer(Int64(count)))]))
    }
    for check in checks { Terminal.print(check.text) }
    Terminal.print("\n" + CountText.of(count, "findings"), count == 0 ? .green : .red)
  }
}

extension Doctor {
  /// What a running daemon answers to `GET /readyz`, or that none holds the folder. A folder
  /// without a journal never had one.
  fileprivate func examineDaemon() {
    guard let isLocked = try? folder.isLocked() else { return }
    guard isLocked else {
      guard (try? folder.hasJournal()) == true else { return }
      return reportFinding(
        "no daemon runs on \(folder.path): what Apple sends is not received",
        next: "systemctl start subledger, or subledger serve; it recovers what was missed if it "
          + "has a key of appStore, otherwise Apple comes again for some days")
    }
    guard let client = ControlClient(folder), let answer = try? client.get("/readyz") else {
      return reportFinding(
        "the data folder is locked, and no daemon answers at \(folder.controlSocket)",
        next: "another command may be running: try again, or read the daemon's log")
    }
    guard answer.status != 200 else { return report("ready") }
    let code = answer.body["code"]?.string ?? "\(answer.status)"
    reportFinding(
      "not ready: \(VisibleText.of(code))",
      next: "its log says why; disk_floor and disk_full need free disk space")
  }
}
