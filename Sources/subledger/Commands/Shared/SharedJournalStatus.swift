import Audit
import Clients
import Ledger
import Platform
import SharedJournal
import Store
import StrictJSON

/// `shared-journal status`: where the shared journal is, and how far this copy is.
enum SharedJournalStatus {
  static func run(_ arguments: Arguments) throws(LedgerError) -> ExitCode {
    let configuration = try arguments.configuration()
    let shared = try SharedJournalCommand.configured(configuration)
    let report = try ServerReport(shared.settings, by: SharedJournalCommand.soon)
    let folder = arguments.folder(configuration)
    let copied = copied(folder)
    let state = daemonState(folder)
    if arguments.has("--json") {
      Terminal.print(json(shared, report, copied, state))
    } else {
      for line in text(shared, report, copied, state) { Terminal.print(line) }
    }
    return .good
  }

  /// The newest event of the copy, and what it does not take for what it says; nil if there is no
  /// copy yet.
  static func copied(_ folder: DataFolder) -> (seq: Int64, faults: CopyFaults)? {
    guard let reader = try? JournalReader.open(folder) else { return nil }
    defer { reader.close() }
    guard let seq = try? reader.head().seq, let faults = try? reader.faults() else { return nil }
    return (seq, faults)
  }

  /// What the daemon of this folder says: ready, or why it is not.
  private static func daemonState(_ folder: DataFolder) -> String {
    guard let answer = try? ControlClient(folder)?.get("/readyz") else { return "not running" }
    if answer.status == 200 { return "ready" }
    return "not ready: \(answer.body["detail"]?.string ?? answer.body["code"]?.string ?? "")"
  }

  private static func text(
    _ shared: Configuration.SharedJournal, _ report: ServerReport,
    _ copied: (seq: Int64, faults: CopyFaults)?, _ state: String
  ) -> [String] {
    var lines = [
      "server        \(shared.address.description), schema \(shared.schema)",
      "encrypted     \(report.isEncrypted ? "yes" : "no")",
      "trust roots   \(report.trustRoots.isEmpty ? "not set" : "\(report.trustRoots.count)")",
      "newest event  seq \(report.seq)",
      "this copy     " + (copied.map { "seq \($0.seq)" } ?? "none yet"),
      "this daemon   \(state)",
    ]
    if let faults = copied?.faults, faults != .none {
      lines += ["not believed  \(faults.text)", "next          \(CopyFaults.next)"]
    }
    for duty in report.duties {
      lines.append("duty          \(duty.name): \(duty.isLeased ? duty.holder : "nobody")")
    }
    return lines
  }

  private static func json(
    _ shared: Configuration.SharedJournal, _ report: ServerReport,
    _ copied: (seq: Int64, faults: CopyFaults)?, _ state: String
  ) -> JSONValue {
    .object([
      ("object", .string("shared_journal")), ("server", .string(shared.address.description)),
      ("schema", .string(shared.schema.name)), ("encrypted", .boolean(report.isEncrypted)),
      ("trust_roots", .integer(Int64(report.trustRoots.count))),
      ("seq", .integer(report.seq)), ("copy_seq", .optional(copied?.seq)),
      ("daemon", .string(state)),
      ("faults", copied.map { CopyFaults.object.json($0.faults) } ?? .null),
      (
        "duties",
        .array(
          report.duties.map { duty in
            .object([
              ("name", .string(duty.name)),
              ("holder", duty.isLeased ? .string(duty.holder) : .null),
            ])
          })
      ),
    ])
  }
}

extension CopyFaults {
  /// How many of what, in words.
  var text: String {
    [(brokenEvents, "broken events"), (unprovenEvents, "unproven events"), (skippedNotes, "notes")]
      .filter { $0.0 > 0 }.map { CountText.of($0.0, $0.1) }.joined(separator: ", ")
  }
}
