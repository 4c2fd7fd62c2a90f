import AppStore
import Ledger
import Platform
import Store
import StrictJSON

/// `quarantine`: lists what was genuine and not admitted; admits or drops it.
enum QuarantineCommand {
  static let flags: [Command.Flag] = [
    .init("--app", "ID", "only notifications of the app with this bundle id"),
    .init(
      "--environment", "E",
      "admit what names no app (no_app) as a notification of the app of --app in this environment"),
    .init("--reason", "CODE", "only notifications that were not admitted for this reason"),
    .init("--limit", "N", "list at most N (100)"), .json,
  ]

  static func run(_ arguments: Arguments) throws(LedgerError) -> ExitCode {
    var filter = QuarantineFilter(
      reason: arguments.values["--reason"], bundleId: arguments.values["--app"])
    let origin = try origin(arguments)
    if origin != nil { filter = QuarantineFilter(reason: filter.reason ?? "no_app") }
    let hasFilter = filter.reason != nil || filter.bundleId != nil
    switch (arguments.operands.first, arguments.operands.count) {
    case ("list", 1): return try list(filter, arguments)
    case ("admit", 1) where hasFilter: return try admit(.matching(filter), origin, arguments)
    case ("drop", 1) where hasFilter: return try drop(.matching(filter), arguments)
    case ("admit", 2), ("drop", 2):
      guard let id = Int64(arguments.operands[1]) else {
        throw .usage("ID is a number that 'quarantine list' prints")
      }
      guard !hasFilter || origin != nil else {
        throw .usage("give either an ID, or --app and --reason")
      }
      return try arguments.operands[0] == "admit"
        ? admit(.one(id), origin, arguments) : drop(.one(id), arguments)
    default: throw .usage("missing argument: list, or admit or drop with ID, --app or --reason")
    }
  }

  /// The app that the owner says they are of.
  private static func origin(
    _ arguments: Arguments
  ) throws(LedgerError) -> Receiver.EvidenceOrigin? {
    guard let environment = arguments.values["--environment"] else { return nil }
    let known = Environment.all.first { $0.rawValue == environment }
    guard let known, let app = arguments.values["--app"], arguments.operands.first == "admit" else {
      throw .usage("--environment is Production or Sandbox, and goes with admit --app")
    }
    return Receiver.EvidenceOrigin(bundleId: app, environment: known)
  }

  private static func list(
    _ filter: QuarantineFilter, _ arguments: Arguments
  ) throws(LedgerError) -> ExitCode {
    let limit = Int(try arguments.number("--limit", 1...1_000_000) ?? 100)
    let folder = try arguments.readableFolder()
    let journal = try JournalReader.open(folder)
    let items = try journal.quarantined(limit: limit, filter)
    let counts = try journal.quarantineCounts()
    guard !arguments.has("--json") else {
      for item in items { Terminal.print(json(item)) }
      return .good
    }
    if !items.isEmpty {
      var table = QueryTable(["id", "received", "reason", "environment", "app", "type"])
      for item in items { table.addOrPrint(cells(item)) }
      table.print()
    }
    let more =
      counts.overflow > 0 ? "; \(counts.overflow) more were not stored, because it was full" : ""
    Terminal.print("\(counts.stored) in quarantine\(more)")
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

  private static func cells(_ item: StoredQuarantine) -> [QueryValue] {
    [
      .integer(item.id), .text(Timestamp.text(item.receivedAt)), .text(item.reason),
      .text(item.environment?.rawValue ?? "–"), .text(item.bundleId ?? "–"),
      .text(item.notificationType ?? "–"),
    ]
  }

  // MARK: Admit and drop

  fileprivate enum Chosen {
    case one(Int64)
    case matching(QuarantineFilter)
  }

  private static func admit(
    _ chosen: Chosen, _ origin: Receiver.EvidenceOrigin?, _ arguments: Arguments
  ) throws(LedgerError) -> ExitCode {
    var report = AdmissionReport()
    let isStopped = try forEachBatch(chosen, "quarantine admit", origin, arguments) {
      (answer, count) throws(LedgerError) in
      guard let list = answer["outcomes"], let outcomes = BatchReceive.outcomes(list),
        outcomes.count == count
      else { throw notDone }
      try report.add(outcomes)
    }
    if case .one(let id) = chosen { try report.requireAdmitted(id) }
    Terminal.print(report.json, or: report.text(of: chosen.id), arguments)
    if isStopped { return .interrupted }
    return report.isWhole ? .good : .findings
  }

  private static func drop(
    _ chosen: Chosen, _ arguments: Arguments
  ) throws(LedgerError) -> ExitCode {
    var count = 0
    let isStopped = try forEachBatch(chosen, "quarantine drop", nil, arguments) {
      (answer, _) throws(LedgerError) in
      guard let dropped = answer["dropped"]?.integer else { throw notDone }
      count += Int(dropped)
    }
    if let id = chosen.id, count == 0 { throw absent(id) }
    Terminal.print(
      .object([("dropped", .integer(Int64(count)))]),
      or: chosen.id.map { "\($0) is dropped" } ?? "\(count) dropped", arguments)
    return isStopped ? .interrupted : .good
  }

  /// Asks the ledger to do it with the chosen notifications, some at a time, until ^C.
  ///
  /// - Parameters:
  ///   - task: the words of the command; the last of them is the route's.
  ///   - answered: gets each answer, and how many were asked for.
  /// - Returns: whether it was stopped.
  private static func forEachBatch(
    _ chosen: Chosen, _ task: String, _ origin: Receiver.EvidenceOrigin?, _ arguments: Arguments,
    _ answered: (JSONElement, Int) throws(LedgerError) -> Void
  ) throws(LedgerError) -> Bool {
    let folder = try arguments.journalFolder()
    let ledger = try LocalLedger(folder, try arguments.configuration())
    defer { ledger.stop() }
    func ask(_ ids: [Int64]) throws(LedgerError) {
      let path = "/control/" + task.replacing(" ", with: "/")
      let named = origin.map { ["\($0.environment.rawValue) \($0.bundleId)"] } ?? []
      let body = (named + ids.map { "\($0)" }).joined(separator: "\n")
      let answer = try ledger.post(path, Array(body.utf8))
      guard answer.status == 200 else { throw notDone }
      try answered(answer.body, ids.count)
    }
    guard case .matching(let filter) = chosen else {
      if let id = chosen.id { try ask([id]) }
      return false
    }
    let interruption = Interruption.started()
    let progress = ProgressReporter(task)
    var (last, count): (Int64, Int64) = (0, 0)
    while !interruption.isRequested {
      let ids = try JournalReader.open(folder)
        .quarantinedIds(after: last, limit: QuarantineAdmission.batchLimit, filter)
      guard let greatest = ids.last else { return false }
      try ask(ids)
      (last, count) = (greatest, count + Int64(ids.count))
      progress.show(count, share: nil)
    }
    return true
  }

  private static let notDone = LedgerError.unavailable(
    "the journal could not be written; try again")

  fileprivate static func absent(_ id: Int64) -> LedgerError {
    .findings("there is no \(id) in quarantine; see: subledger quarantine list")
  }
}

extension QuarantineCommand.Chosen {
  /// The id, if one was given.
  fileprivate var id: Int64? {
    if case .one(let id) = self { id } else { nil }
  }
}

/// What became of the notifications that were to be admitted.
private struct AdmissionReport {
  private(set) var accepted: [Int64] = []
  private(set) var duplicates: [Int64] = []
  private(set) var conflicts = 0
  /// Evidence that says nothing new: it is held beside the journal.
  private(set) var held = 0
  /// Receipts of which there is nothing to journal. They stay.
  private(set) var withoutPurchases = 0
  /// The number of those that were refused again, by code.
  private(set) var refused: [String: Int] = [:]

  mutating func add(_ outcomes: [Outcome]) throws(LedgerError) {
    for outcome in outcomes {
      switch outcome {
      case .accepted(let seq): accepted.append(seq)
      case .duplicate(let seq): duplicates.append(seq)
      case .conflict: conflicts += 1
      case .refused(.unavailable):
        throw .unavailable(
          "the journal could not be written; \(accepted.count) were admitted, try again")
      case .held: held += 1
      case .noPurchases: withoutPurchases += 1
      // Another command was faster.
      case .skipped: break
      case .quarantined, .quarantineFull, .refused:
        refused[outcome.refusal?.code ?? outcome.name, default: 0] += 1
      }
    }
  }

  /// Whether none stays in quarantine.
  var isWhole: Bool { refused.isEmpty && conflicts == 0 && withoutPurchases == 0 }

  /// - Throws: why the one notification is not in the journal.
  func requireAdmitted(_ id: Int64) throws(LedgerError) {
    if let code = refused.keys.first { throw .findings("refused again: \(code)") }
    guard conflicts == 0 else {
      throw .findings(
        "the journal has other content under its uuid and keeps that; compare the two, then: "
          + "subledger quarantine drop \(id)")
    }
    guard withoutPurchases == 0 else {
      throw .findings(
        "a receipt without purchases: there is nothing to journal of it; remove it with: "
          + "subledger quarantine drop \(id)")
    }
    guard held > 0 || !(accepted + duplicates).isEmpty else { throw QuarantineCommand.absent(id) }
  }

  var json: JSONValue {
    .object([
      ("admitted", .integer(Int64(accepted.count))),
      ("duplicates", .integer(Int64(duplicates.count))),
      ("conflicts", .integer(Int64(conflicts))),
      ("refused", .integer(Int64(refused.values.reduce(0, +)))), ("held", .integer(Int64(held))),
      ("without_purchases", .integer(Int64(withoutPurchases))),
    ])
  }

  /// - Parameter id: of the only one; nil of several.
  func text(of id: Int64?) -> String {
    if let id, let seq = (accepted + duplicates).first {
      return "\(id) is in the journal: seq \(seq)"
    }
    if let id, held > 0 { return "\(id) says nothing new and is held beside the journal" }
    var parts = ["\(accepted.count) admitted"]
    if !duplicates.isEmpty { parts.append("\(duplicates.count) were already in the journal") }
    if conflicts > 0 { parts.append("\(conflicts) conflict with the journal and stay") }
    if held > 0 { parts.append("\(held) say nothing new and are held beside the journal") }
    if withoutPurchases > 0 {
      parts.append("\(withoutPurchases) are receipts without purchases and stay")
    }
    for (code, count) in refused.sorted(by: { $0.key < $1.key }) {
      parts.append("\(count) refused again: \(code)")
    }
    return parts.joined(separator: "; ")
  }
}
