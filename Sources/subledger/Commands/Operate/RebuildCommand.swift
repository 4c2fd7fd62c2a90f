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
    .init("--only", "OTID", "fold one customer again, into the live projection"),
    .init("--threads", "N", "fold on N threads (one per processor)"), .json,
  ]

  private static let modes = ["--diff", "--apply"]

  /// The modes that a flag goes with; the empty one is a plain build.
  private static let companions = [
    ("--at", ["--diff"]), ("--output", ["--diff"]), ("--fail-on", ["--diff"]),
    ("--threads", ["", "--diff", "--apply"]),
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
    var plan = try plan(arguments)
    let folder = try arguments.journalFolder()
    plan.isFromScratch = false
    let report = try build(folder, plan)
    let adopt = ProjectionOrder.adopt(fold: folder.fold.fingerprint)
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
      Terminal.print("live; what it replaced is kept for the program that made it")
    }
    return .good
  }

  private static func refold(
    _ id: String, _ arguments: Arguments
  ) throws(LedgerError) -> ExitCode {
    let folder = try arguments.journalFolder()
    let outcome = try perform(.refold(only: id), folder)
    if case .notFollowing(let state) = outcome { throw hindrance(state) }
    guard case .refolded(let streams, let changed) = outcome else { throw failed }
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

  /// Why one customer cannot be folded again into the live projection, by the state of that.
  private static func hindrance(_ state: ProjectionState) -> LedgerError {
    let alone = "without a daemon, run subledger rebuild --apply"
    return switch state {
    case .absent:
      .findings("no rows are live; a daemon builds them, its log says what hinders it; \(alone)")
    case .otherFold:
      .findings("the live rows are of another version; a daemon builds its own; \(alone)")
    case .damaged:
      .findings(
        "the live projection is damaged, or not of this journal; a daemon builds it again; "
          + alone)
    case .unwritable:
      .unavailable(
        "the live projection cannot be written, mostly because the disk is full: the daemon's log "
          + "says why, and it tries again each second")
    case .building, .catchingUp, .following:
      .unavailable("the live projection is being built or caught up; run this again later")
    }
  }

  private static let failed = LedgerError.unavailable(
    "the daemon could not do it, its log says why; the live projection is unchanged")

  /// - Throws: `LedgerError.unavailable` if the daemon could not do it, else as `Rebuild.perform`.
  private static func perform(
    _ order: ProjectionOrder, _ folder: DataFolder
  ) throws(LedgerError) -> ProjectionOrder.Outcome {
    guard let daemon = ControlClient(folder) else { return try Rebuild.perform(order, folder) }
    let answer = try daemon.post("/control/projection", order.json.bytes)
    guard answer.status == 200 else { throw ControlClient.otherVersion }
    let outcome = ProjectionOrder.Outcome(answer.body)
    guard outcome != .failed else { throw failed }
    return outcome
  }

  /// For an error of building a projection.
  static func building(_ error: LedgerError) -> LedgerError {
    error.code == .locked
      ? .unavailable(
        "the daemon or another rebuild is building a projection here; run this again later")
      : error
  }
}
