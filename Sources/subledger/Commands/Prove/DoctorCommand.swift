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

  static func run(_ arguments: Arguments) throws(LedgerError) -> ExitCode {
    try arguments.requireNoOperand()
    var checks: [DoctorCheck] = []
    do throws(LedgerError) {
      let configuration = try arguments.configuration()
      checks = Doctor.examine(configuration, file: arguments.configurationFile, at: Clock.now())
      checks += SharedJournalCheck.examine(configuration, arguments.folder(configuration))
      checks += daemon(arguments.folder(configuration).controlSocket, configuration, arguments)
      checks += RefusalCheck.examine(arguments.folder(configuration))
      checks += MirrorCheck.examine(configuration, arguments.folder(configuration))
      checks += AppStoreKeyCheck.examine(configuration, isOffline: arguments.has("--offline"))
    } catch {
      guard error.code == .configuration else { throw error }
      checks = [DoctorCheck("configuration", error.message, next: error.next ?? "")]
      let readable = try arguments.partialConfiguration()
      if !readable.missing.contains(.data) {
        let folder = arguments.folder(readable.configuration)
        checks += Doctor.examineFolder(readable.configuration, at: Clock.now())
        checks += daemon(folder.controlSocket, readable.configuration, arguments)
      }
    }
    show(checks, asJSON: arguments.has("--json"))
    if checks.contains(where: \.isNewer) { return .newer }
    return checks.contains(where: \.isFinding) ? .findings : .good
  }

  /// What a running daemon answers to `GET /readyz`, or that none holds the folder. A folder
  /// without a journal never had one.
  private static func daemon(
    _ socket: String, _ configuration: Configuration, _ arguments: Arguments
  ) -> [DoctorCheck] {
    let folder = arguments.folder(configuration)
    guard let isLocked = try? folder.isLocked() else { return [] }
    guard isLocked else {
      guard (try? folder.hasJournal()) == true else { return [] }
      return [
        .init(
          "daemon", "no daemon runs on \(folder.path): what Apple sends is not received",
          next: "systemctl start subledger, or subledger serve; it recovers what was missed if it "
            + "has a key of appStore, otherwise Apple comes again for some days")
      ]
    }
    guard let client = ControlClient(folder), let answer = try? client.get("/readyz") else {
      return [
        .init(
          "daemon", "the data folder is locked, and no daemon answers at \(socket)",
          next: "another command may be running: try again, or read the daemon's log")
      ]
    }
    guard answer.status != 200 else { return [.init("daemon", "ready")] }
    let code = answer.body["code"]?.string ?? "\(answer.status)"
    return [
      .init(
        "daemon", "not ready: \(VisibleText.of(code))",
        next: "its log says why; disk_floor and disk_full need free disk space")
    ]
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
