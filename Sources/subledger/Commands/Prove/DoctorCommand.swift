import Configuration
import JournalStore
import LedgerAudit
import Observability
import Platform
import StrictJSON

enum DoctorCommand {
  static func run(_ words: Arguments) throws(CommandError) -> ExitCode {
    try words.none()
    let file = words["--config"] ?? ProcessEnvironment.variables["SUBLEDGER_CONFIG"]
    var checks: [Doctor.Check] = []
    do throws(CommandError) {
      let configuration = try words.configuration()
      checks = Doctor.examine(configuration, file: file, at: Clock.now())
      checks += daemon(words.folder(configuration).controlSocket, configuration, words)
    } catch {
      guard case .configuration(let mistake) = error else { throw error }
      checks = [Doctor.Check("configuration", mistake.problem, next: mistake.next)]
    }
    show(checks, asJSON: words.has("--json"))
    return checks.contains(where: \.isFinding) ? .findings : .good
  }

  /// What a daemon that runs says of itself.
  private static func daemon(
    _ socket: String, _ configuration: Configuration, _ words: Arguments
  ) -> [Doctor.Check] {
    let folder = words.folder(configuration)
    guard let isLocked = try? folder.isLocked(), isLocked else { return [] }
    guard let client = ControlClient(folder), let answer = try? client.get("/readyz") else {
      return [
        .init(
          "daemon", "the data folder is held, and nobody answers at \(socket)",
          next: "another command may be at work: run this again, or look at the daemon's log")
      ]
    }
    guard answer.status != 200 else { return [.init("daemon", "ready")] }
    let code = answer.body["code"]?.string ?? "\(answer.status)"
    return [
      .init(
        "daemon", "not ready: \(VisibleText.of(code))",
        next: "its log says why; disk_floor and disk_full want room on the disk")
    ]
  }

  private static func show(_ checks: [Doctor.Check], asJSON: Bool) {
    let count = checks.count(where: \.isFinding)
    if asJSON {
      for check in checks { Terminal.print(check.json.text) }
      let end = JSONValue.object([
        ("object", .string("diagnosis")), ("findings", .integer(Int64(count))),
      ])
      return Terminal.print(end.text)
    }
    for check in checks {
      Terminal.print((check.isFinding ? "✗ " : "  ") + check.topic.padded(to: 15) + check.what)
      if let next = check.next {
        var lines = TextWrapper()
        lines.add("→ " + next, indent: 4, hanging: 6)
        Terminal.print(lines.text)
      }
    }
    Terminal.print("\n\(count) finding\(count == 1 ? "" : "s")")
  }
}
