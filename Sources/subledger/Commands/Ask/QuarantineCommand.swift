import Configuration
import Encoding
import JournalStore
import LedgerEngine
import Platform
import StrictJSON
import Synchronization

enum QuarantineCommand {
  static func run(_ words: Arguments) throws(CommandError) -> ExitCode {
    switch (words.rest.first, words.rest.count) {
    case ("list", 1): return try list(words)
    case ("admit", 2), ("drop", 2):
      guard let id = Int64(words.rest[1]) else { throw .usage("ID is the number that list shows") }
      return try words.rest[0] == "admit" ? admit(id, words) : drop(id, words)
    default: throw .usage("say: list, admit ID or drop ID")
    }
  }

  private static func list(_ words: Arguments) throws(CommandError) -> ExitCode {
    let limit = Int(try words.number("--limit", 1...1_000_000) ?? 100)
    let folder = words.folder(try words.configuration())
    let (items, counts) = try CommandError.store { () throws(StoreError) in
      let journal = try JournalReader.open(folder)
      return (try journal.quarantined(limit: limit), try journal.quarantineCounts())
    }
    for item in items { Terminal.print(words.has("--json") ? json(item).text : text(item)) }
    if !words.has("--json") {
      Terminal.print("\(counts.kept) in quarantine, \(counts.overflow) of other apps only counted")
    }
    return .good
  }

  private static func json(_ item: StoredQuarantine) -> JSONValue {
    .object([
      ("object", .string("quarantined")), ("id", .integer(item.id)),
      ("reason", .string(item.reason)), ("notification_uuid", .optional(item.notificationUUID)),
      ("environment", .optional(item.environment)), ("bundle_id", .optional(item.bundleId)),
      ("notification_type", .optional(item.notificationType)),
      ("signed_date", .optional(item.signedDate)), ("received_at", .integer(item.receivedAt)),
      ("body_sha256", .string(Hexadecimal.encode(item.bodySHA256))),
    ])
  }

  private static func text(_ item: StoredQuarantine) -> String {
    "\(item.id)".padded(to: 7) + Timestamp.text(item.receivedAt).padded(to: 26)
      + item.reason.padded(to: 22) + (item.environment ?? "–").padded(to: 12)
      + (item.bundleId ?? "–").padded(to: 28) + (item.notificationType ?? "–")
  }

  // MARK: Through the daemon, or by ourselves where there is none

  private static func admit(_ id: Int64, _ words: Arguments) throws(CommandError) -> ExitCode {
    let configuration = try words.configuration()
    let folder = words.folder(configuration)
    if let daemon = ControlClient(folder) {
      return try report(daemon.post("/control/quarantine/\(id)/admit"), id)
    }
    let ledger = try OwnLedger.start(folder)
    defer { ledger.stop() }
    let receiver = try OwnLedger.receiver(configuration)
    let done = BoundedQueue<Ledger.Outcome>(capacity: 1)
    let admission = Quarantine.admit(id, receiver: receiver, ledger: ledger, at: Clock.now()) {
      _ = done.put($1)
    }
    switch admission {
    case .absent: throw .findings("there is no \(id) in quarantine; see: subledger quarantine list")
    case .refused(let refusal): throw .findings("refused again: \(refusal.code)")
    case .unreadable(let error): throw .store(error)
    case .submitted: break
    }
    switch done.takeAll()?.first {
    case .accepted(let seq), .duplicate(let seq):
      Terminal.print("\(id) is in the journal: seq \(seq)")
    case .conflict: throw .findings("another notification has its uuid; it stays in quarantine")
    default: throw .unavailable("the journal took nothing; try again")
    }
    return .good
  }

  private static func drop(_ id: Int64, _ words: Arguments) throws(CommandError) -> ExitCode {
    let folder = words.folder(try words.configuration())
    if let daemon = ControlClient(folder) {
      return try report(daemon.post("/control/quarantine/\(id)/drop"), id)
    }
    let ledger = try OwnLedger.start(folder)
    defer { ledger.stop() }
    let done = BoundedQueue<Bool>(capacity: 1)
    ledger.dropQuarantined(id) { _ = done.put($0) }
    guard done.takeAll()?.first == true else {
      throw .findings("there is no \(id) in quarantine; see: subledger quarantine list")
    }
    Terminal.print("\(id) is dropped")
    return .good
  }

  private static func report(
    _ answer: (status: Int, body: JSONElement), _ id: Int64
  ) throws(CommandError) -> ExitCode {
    switch answer.status {
    case 200:
      let seq = answer.body["seq"]?.integer.map { ": seq \($0)" } ?? ""
      Terminal.print("\(id) is \(answer.body["outcome"]?.string ?? "done")\(seq)")
      return .good
    case 404: throw .findings("there is no \(id) in quarantine; see: subledger quarantine list")
    case 503: throw .unavailable("the daemon cannot now; try again")
    default: throw .findings("refused again: \(answer.body["code"]?.string ?? "unknown")")
    }
  }
}

/// The ledger of a folder that no daemon holds, for one command.
enum OwnLedger {
  static func start(_ folder: DataFolder) throws(CommandError) -> Ledger {
    try CommandError.store { () throws(StoreError) in
      try Ledger.start(folder, now: Clock.now(), onFailure: { _ in })
    }
  }

  static func receiver(_ configuration: Configuration) throws(CommandError) -> Receiver {
    do throws(ConfigurationError) {
      return try Receiver(configuration)
    } catch {
      throw .configuration(error)
    }
  }
}
