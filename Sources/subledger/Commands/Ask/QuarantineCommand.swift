import AppStore
import Configuration
import Encoding
import JournalStore
import LedgerEngine
import Observability
import Platform
import StrictJSON

/// `quarantine`: lists what was genuine and not admitted; admits or drops one notification.
enum QuarantineCommand {
  static func run(_ arguments: Arguments) throws(CommandError) -> ExitCode {
    switch (arguments.operands.first, arguments.operands.count) {
    case ("list", 1): return try list(arguments)
    case ("admit", 2), ("drop", 2):
      guard let id = Int64(arguments.operands[1]) else {
        throw .usage("ID is a number that 'quarantine list' prints")
      }
      return try arguments.operands[0] == "admit" ? admit(id, arguments) : drop(id, arguments)
    default: throw .usage("missing argument: list, admit ID or drop ID")
    }
  }

  private static func list(_ arguments: Arguments) throws(CommandError) -> ExitCode {
    let limit = Int(try arguments.number("--limit", 1...1_000_000) ?? 100)
    let folder = arguments.folder(try arguments.configuration())
    let (items, counts) = try mapError(CommandError.store) { () throws(StoreError) in
      let journal = try JournalReader.open(folder)
      return (try journal.quarantined(limit: limit), try journal.quarantineCounts())
    }
    for item in items { Terminal.print(json(item), or: VisibleText.of(text(item)), arguments) }
    if !arguments.has("--json") {
      Terminal.print(
        "\(counts.stored) in quarantine; \(counts.overflow) of other apps were counted, not stored")
    }
    return .good
  }

  private static func json(_ item: StoredQuarantine) -> JSONValue {
    .object([
      ("object", .string("quarantined")), ("id", .integer(item.id)),
      ("reason", .string(item.reason)),
      ("notification_uuid", .optional(item.notificationUUID)),
      ("environment", .optional(item.environment?.rawValue)),
      ("bundle_id", .optional(item.bundleId)),
      ("notification_type", .optional(item.notificationType)),
      ("signed_date", .optional(item.signedDate)), ("received_at", .integer(item.receivedAt)),
      ("body_sha256", .string(Hexadecimal.encode(item.bodySHA256))),
    ])
  }

  private static func text(_ item: StoredQuarantine) -> String {
    "\(item.id)".padded(to: 7) + Timestamp.text(item.receivedAt).padded(to: 26)
      + item.reason.padded(to: 22) + (item.environment?.rawValue ?? "–").padded(to: 12)
      + (item.bundleId ?? "–").padded(to: 28) + (item.notificationType ?? "–")
  }

  // MARK: Admit and drop: by the daemon if one runs, else by this process

  private static func admit(_ id: Int64, _ arguments: Arguments) throws(CommandError) -> ExitCode {
    let configuration = try arguments.configuration()
    let folder = try arguments.journalFolder()
    if let daemon = ControlClient(folder) {
      return try report(daemon.post("/control/quarantine/\(id)/admit"), id)
    }
    let ledger = try StandaloneLedger.start(folder, configuration)
    defer { ledger.stop() }
    let receiver = try StandaloneLedger.receiver(configuration)
    let done = BoundedQueue<Disposition>(capacity: 1)
    let admission = Quarantine.admit(id, receiver: receiver, ledger: ledger, at: Clock.now()) {
      _ = done.enqueue($1)
    }
    switch admission {
    case .absent: throw absent(id)
    case .refused(let refusal): throw .findings("refused again: \(refusal.code)")
    case .unreadable(let error): throw .store(error)
    case .submitted: break
    }
    switch done.dequeueAll()?.first {
    case .accepted(let seq), .duplicate(let seq):
      Terminal.print("\(id) is in the journal: seq \(seq)")
    case .conflict:
      throw .findings("the journal has another notification with its uuid; it stays in quarantine")
    default: throw .unavailable("the journal could not be written; try again")
    }
    return .good
  }

  private static func drop(_ id: Int64, _ arguments: Arguments) throws(CommandError) -> ExitCode {
    let configuration = try arguments.configuration()
    let folder = try arguments.journalFolder()
    if let daemon = ControlClient(folder) {
      return try report(daemon.post("/control/quarantine/\(id)/drop"), id)
    }
    let ledger = try StandaloneLedger.start(folder, configuration)
    defer { ledger.stop() }
    let done = BoundedQueue<Bool>(capacity: 1)
    ledger.dropQuarantined(id) { _ = done.enqueue($0) }
    guard done.dequeueAll()?.first == true else { throw absent(id) }
    Terminal.print("\(id) is dropped")
    return .good
  }

  private static func absent(_ id: Int64) -> CommandError {
    .findings("there is no \(id) in quarantine; see: subledger quarantine list")
  }

  private static func report(
    _ answer: (status: Int, body: JSONElement), _ id: Int64
  ) throws(CommandError) -> ExitCode {
    switch answer.status {
    case 200:
      let seq = answer.body["seq"]?.integer.map { ": seq \($0)" } ?? ""
      Terminal.print("\(id) is \(answer.body["outcome"]?.string ?? "done")\(seq)")
      return .good
    case 404: throw absent(id)
    case 503: throw .unavailable("the daemon could not do it; try again")
    default: throw .findings("refused again: \(answer.body["code"]?.string ?? "unknown")")
    }
  }
}
