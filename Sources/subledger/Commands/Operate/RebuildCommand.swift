import Ledger
import Platform
import Store
import StrictJSON

/// `rebuild`: builds a projection beside the live one, compares the two, and switches.
enum RebuildCommand {
  static let flags: [Command.Flag] = [
    .init("--diff", "compare the new projection with the live one; exit 1 if they differ"),
    .init("--at", "T", "with --diff: compare access at this moment (now)"),
    .init("--output", "FILE", "with --diff: every difference, as FILE.csv or FILE.json"),
    .init("--fail-on", "WHAT", "with --diff: exit 1 only for lost-access or gained-access"),
    .init("--apply", "make the new projection live; builds it first if needed"),
    .init("--announce", "tell sinks whose answers the switch to this fold changed"),
    .init("--rollback", "make the previous projection of this fold live again"),
    .init("--keep", "N", "retain N projections beside the live one (2)"),
    .init("--list", "show the projections of the folder"),
    .init("--prune", "remove retained projections, all or past the first --keep N"),
    .init("--only", "OTID", "fold one customer again, into the live projection"),
    .init("--threads", "N", "fold on N threads (one per processor)"), .json,
  ]

  private static let modes = ["--diff", "--apply", "--rollback", "--list", "--prune"]

  /// The modes that a flag goes with; the empty one is a plain build.
  private static let companions = [
    ("--at", ["--diff"]), ("--output", ["--diff"]), ("--fail-on", ["--diff"]),
    ("--keep", ["--apply", "--prune"]), ("--threads", ["", "--diff", "--apply"]),
  ]

  static func run(_ arguments: Arguments) throws(LedgerError) -> ExitCode {
    try arguments.requireNoOperand()
    var chosen = modes.filter(arguments.has)
    if arguments["--only"] != nil { chosen.append("--only") }
    if arguments.has("--announce"), chosen.isEmpty { chosen = ["--announce"] }
    guard chosen.count <= 1 else {
      throw .usage("give only one of \(chosen.joined(separator: ", "))")
    }
    for (name, modes) in companions where arguments[name] != nil {
      guard modes.contains(chosen.first ?? "") else {
        throw .usage("\(name) goes with \(modes.filter { $0 != "" }.joined(separator: " or "))")
      }
    }
    guard !arguments.has("--announce") || ["--announce", "--apply"].contains(chosen.first) else {
      throw .usage("--announce goes with --apply, or alone after it")
    }
    switch chosen.first {
    case "--diff": return try RebuildDifference.run(arguments)
    case "--announce": return try RebuildAnnouncement.run(arguments)
    case "--apply":
      let code = try apply(arguments)
      return arguments.has("--announce") ? try RebuildAnnouncement.run(arguments) : code
    case "--rollback": return try rollBack(arguments)
    case "--list": return try list(arguments)
    case "--prune": return try prune(arguments)
    case "--only": return try refold(arguments["--only"] ?? "", arguments)
    default: return try build(arguments)
    }
  }

  static func plan(_ arguments: Arguments) throws(LedgerError) -> Rebuild.Plan {
    var plan = Rebuild.Plan()
    if let threads = try arguments.number("--threads", 1...256) { plan.threads = Int(threads) }
    plan.durations = try arguments.configuration().durations
    return plan
  }

  private static func retained(_ arguments: Arguments, default usual: Int) throws(LedgerError)
    -> Int
  {
    Int(try arguments.number("--keep", 0...100) ?? Int64(usual))
  }

  // MARK: Building

  private static func build(_ arguments: Arguments) throws(LedgerError) -> ExitCode {
    let plan = try plan(arguments)
    show(try build(try arguments.journalFolder(), plan), arguments)
    if !arguments.has("--json") {
      Terminal.print("not live yet; to compare and switch: subledger rebuild --diff, then --apply")
    }
    return .good
  }

  private static func build(
    _ folder: DataFolder, _ plan: Rebuild.Plan
  ) throws(LedgerError) -> Rebuild.Report {
    try judgeHeld(folder)
    let observer = RebuildObserver()
    let report = try mapError(
      building, try Rebuild.build(folder, plan, progress: observer.shouldContinue))
    guard let report else { throw RebuildObserver.stopped }
    observer.progress.finish(report.events)
    return report
  }

  /// Judges what another fold held before rows of this one are built. Where only a daemon can, says
  /// so; and where that would migrate the journal, which the program of before could not open then.
  static func judgeHeld(_ folder: DataFolder) throws(LedgerError) {
    guard try JournalReader.open(folder).pendingMigrations().isEmpty else { return leaveHeld() }
    let observer = RebuildObserver(ProgressReporter("judge held evidence", counting: "pieces"))
    let journaled: Int?
    do throws(LedgerError) {
      journaled = try Rebuild.judgeHeld(
        folder, now: Clock.now(), progress: observer.shouldContinue)
    } catch {
      guard [.locked, .copyWithoutSharedJournal].contains(error.code) else { throw error }
      return leaveHeld()
    }
    guard let journaled else { throw RebuildObserver.stopped }
    guard journaled > 0 else { return }
    Terminal.error(
      "subledger rebuild: \(CountText.of(Int64(journaled), "pieces")) of held evidence "
        + "\(journaled == 1 ? "says" : "say") something new by this fold, and "
        + "\(journaled == 1 ? "is" : "are") journaled")
  }

  private static func leaveHeld() {
    Terminal.error(
      "subledger rebuild: evidence is held by the rules of another fold. A daemon of this "
        + "version judges it by itself, and no rows of this fold become live before; until it "
        + "has, what is held and new to this fold is missing from what is built")
  }

  private static func show(_ report: Rebuild.Report, _ arguments: Arguments) {
    let digest = Hexadecimal.encode(report.digest.bytes)
    if arguments.has("--json") {
      Terminal.print(
        .object([
          ("events", .integer(report.events)), ("rows", .integer(report.rows)),
          ("digest", .string(digest)),
        ]))
    } else {
      Terminal.print(
        "\(CountText.of(report.events, "events")), \(CountText.of(report.rows, "rows")), "
          + "digest \(digest)")
    }
  }

  // MARK: Orders: to the daemon if one runs, else to this process

  private static func apply(_ arguments: Arguments) throws(LedgerError) -> ExitCode {
    let retained = try retained(arguments, default: Rebuild.retainedByDefault)
    var plan = try plan(arguments)
    let folder = try arguments.journalFolder()
    plan.isFromScratch = false
    let report = try build(folder, plan)
    let adopt = ProjectionOrder.adopt(fold: folder.fold.fingerprint, retaining: retained)
    switch try perform(adopt, folder) {
    case .otherProgram:
      throw .unavailable(
        "the daemon has another fold; restart it with this program, which uses this projection")
    case .notJudged:
      throw .unavailable(
        "evidence is held by the rules of another fold; a daemon of this version judges it, and "
          + "makes the built projection live by itself after that")
    case .nothing:
      throw .unavailable(
        "the built projection has changed or lacks many events; run `subledger rebuild --apply` "
          + "again")
    default: break
    }
    show(report, arguments)
    if !arguments.has("--json") {
      Terminal.print("live; what it replaced is retained: subledger rebuild --list")
    }
    return .good
  }

  private static func rollBack(_ arguments: Arguments) throws(LedgerError) -> ExitCode {
    switch try perform(.rollBack, try arguments.journalFolder()) {
    case .nothing: throw .findings("no projection is retained to return to")
    case .notJudged:
      throw .unavailable("the daemon still judges held evidence by this fold; run this again later")
    case .otherFold(let name, let version, let fingerprint):
      throw .findings(
        "the previous one, \(name), is of fold \(version) (\(fingerprint.prefix(12))): to return "
          + "to it, start the program that has this fold; it continues with it at once")
    default: return try list(arguments)
    }
  }

  private static func prune(_ arguments: Arguments) throws(LedgerError) -> ExitCode {
    let retained = try retained(arguments, default: 0)
    let folder = try arguments.journalFolder()
    try mapError(building, try Rebuild.discard(folder))
    _ = try perform(.prune(retaining: retained), folder)
    return try list(arguments)
  }

  private static func refold(
    _ id: String, _ arguments: Arguments
  ) throws(LedgerError) -> ExitCode {
    let folder = try arguments.journalFolder()
    let outcome = try perform(.refold(only: id), folder)
    guard case .refolded(let streams, let changed) = outcome else {
      switch outcome {
      case .notFollowing(.otherFold):
        throw .findings("the live projection is of another fold; rebuild all of it with --apply")
      case .notFollowing(.absent):
        throw .findings("there is no live projection; build one with --apply")
      default:
        throw .unavailable("the live projection is being built or caught up; run this again later")
      }
    }
    guard streams > 0 else {
      throw .findings("no events with this id; see: subledger events")
    }
    if arguments.has("--json") {
      Terminal.print(
        .object([
          ("streams", .integer(Int64(streams))), ("changed", .integer(Int64(changed))),
        ]))
    } else {
      Terminal.print("\(streams) folded again, \(changed) changed")
    }
    return .good
  }

  /// - Throws: `LedgerError.unavailable` if the daemon could not do it, `LedgerError.findings` if
  ///   the live projection is damaged: it needs no backup, it is built again; else as
  ///   `Rebuild.perform`.
  private static func perform(
    _ order: ProjectionOrder, _ folder: DataFolder
  ) throws(LedgerError) -> ProjectionOrder.Outcome {
    guard let daemon = ControlClient(folder) else {
      do throws(LedgerError) {
        return try Rebuild.perform(order, folder)
      } catch {
        guard case .refold = order, error.isDamage else { throw error }
        throw .findings(
          "the live projection is damaged; start the daemon, which builds it again, or run "
            + "subledger rebuild --apply")
      }
    }
    let outcome = ProjectionOrder.Outcome(
      try daemon.post("/control/projection", order.json.bytes).body)
    guard outcome != .failed else {
      throw .unavailable(
        "the daemon could not do it, its log says why; the live projection is unchanged")
    }
    return outcome
  }

  /// For an error of building a projection.
  static func building(_ error: LedgerError) -> LedgerError {
    error.code == .locked
      ? .unavailable(
        "the daemon or another rebuild is building a projection here; run this again later")
      : error
  }

  // MARK: List

  private static func list(_ arguments: Arguments) throws(LedgerError) -> ExitCode {
    let folder = try arguments.readableFolder()
    try folder.requireJournal()
    let all = try Rebuild.projections(folder)
    if all.isEmpty { Terminal.error("there is no projection; build one with: subledger rebuild") }
    guard !arguments.has("--json"), !all.isEmpty else {
      for item in all { Terminal.print(item.json) }
      return .good
    }
    var table = QueryTable(["role", "name", "fold", "fingerprint", "rows", "through seq", "digest"])
    for item in all { _ = table.add(cells(item)) }
    table.print()
    return .good
  }

  private static func cells(_ item: Rebuild.ListedProjection) -> [QueryValue] {
    [
      .text(item.role.rawValue), .text(item.name), .integer(Int64(item.foldVersion)),
      .text(String(item.fingerprint.prefix(12))), .integer(Int64(item.rows)),
      .integer(Int64(item.foldedThrough)), .text(String(item.digest.prefix(12))),
    ]
  }
}
