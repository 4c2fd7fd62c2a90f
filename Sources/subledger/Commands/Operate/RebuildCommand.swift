import Encoding
import JournalStore
import LedgerEngine
import Platform
import StrictJSON

/// Rows as a release: built beside the live ones, compared with them, switched, switched back.
enum RebuildCommand {
  static let flags: [Command.Flag] = [
    .init("--diff", "compare what is built with what is live; exit 1 where anything differs"),
    .init("--at", "T", "with --diff: who has access at this moment (now)"),
    .init("--output", "FILE", "with --diff: every difference, as FILE.csv or FILE.json"),
    .init("--fail-on", "WHAT", "with --diff: exit 1 only for lost-access or gained-access"),
    .init("--apply", "make what is built live; builds what is missing first"),
    .init("--rollback", "make the rows live again that were so before"),
    .init("--keep", "N", "keep so many projections for a rollback (2)"),
    .init("--list", "show the projections of the folder"),
    .init("--prune", "remove kept projections, all or past the first --keep N"),
    .init("--only", "OTID", "fold one customer anew, into the live rows"),
    .init("--threads", "N", "fold on so many threads (one a processor)"), .json,
  ]

  private static let modes = ["--diff", "--apply", "--rollback", "--list", "--prune"]

  /// With what each of these says something; the empty one is building alone.
  private static let companions = [
    ("--at", ["--diff"]), ("--output", ["--diff"]), ("--fail-on", ["--diff"]),
    ("--keep", ["--apply", "--prune"]), ("--threads", ["", "--diff", "--apply"]),
  ]

  static func run(_ words: Arguments) throws(CommandError) -> ExitCode {
    try words.none()
    var chosen = modes.filter(words.has)
    if words["--only"] != nil { chosen.append("--only") }
    guard chosen.count <= 1 else { throw .usage("one of \(chosen.joined(separator: ", "))") }
    for (name, places) in companions where words[name] != nil {
      guard places.contains(chosen.first ?? "") else {
        throw .usage("\(name) goes with \(places.filter { $0 != "" }.joined(separator: " or "))")
      }
    }
    switch chosen.first {
    case "--diff": return try RebuildDifference.run(words)
    case "--apply": return try apply(words)
    case "--rollback": return try rollBack(words)
    case "--list": return try list(words)
    case "--prune": return try prune(words)
    case "--only": return try refold(words["--only"] ?? "", words)
    default: return try build(words)
    }
  }

  static func plan(_ words: Arguments) throws(CommandError) -> Rebuild.Plan {
    var plan = Rebuild.Plan()
    if let threads = try words.number("--threads", 1...256) { plan.threads = Int(threads) }
    return plan
  }

  private static func kept(_ words: Arguments, or usual: Int) throws(CommandError) -> Int {
    Int(try words.number("--keep", 0...100) ?? Int64(usual))
  }

  // MARK: Building

  private static func build(_ words: Arguments) throws(CommandError) -> ExitCode {
    let folder = words.folder(try words.configuration())
    show(try build(folder, try plan(words)), words)
    if !words.has("--json") {
      Terminal.print("not live yet; see what it changes: subledger rebuild --diff, then --apply")
    }
    return .good
  }

  private static func build(
    _ folder: DataFolder, _ plan: Rebuild.Plan
  ) throws(CommandError) -> Rebuild.Report {
    let watch = RebuildObserver()
    let report = try CommandError.building { () throws(StoreError) in
      try Rebuild.build(folder, plan, progress: watch.shouldContinue)
    }
    guard let report else { throw RebuildObserver.stopped }
    watch.pace.finish(report.events)
    return report
  }

  private static func show(_ report: Rebuild.Report, _ words: Arguments) {
    let digest = Hexadecimal.encode(report.digest.bytes)
    if words.has("--json") {
      Terminal.print(
        JSONValue.object([
          ("events", .integer(report.events)), ("rows", .integer(report.rows)),
          ("digest", .string(digest)),
        ]).text)
    } else {
      Terminal.print("\(report.events) events, \(report.rows) rows, digest \(digest)")
    }
  }

  // MARK: Switching: by the daemon where one runs, by ourselves where there is none

  private static func apply(_ words: Arguments) throws(CommandError) -> ExitCode {
    let folder = words.folder(try words.configuration())
    let kept = try kept(words, or: Rebuild.retainedByDefault)
    var plan = try plan(words)
    plan.isFromScratch = false
    let report = try build(folder, plan)
    if let daemon = ControlClient(folder) {
      let answer = try daemon.post(
        "/control/rows/adopt?keep=\(kept)&fingerprint=\(FoldIdentity.fingerprint)")
      guard answer.status != 409 else {
        throw .unavailable(
          "the daemon has another fold; start this program in its place, it takes over these rows")
      }
      try require(answer.status)
    } else {
      try CommandError.store { () throws(StoreError) in
        try Rebuild.makeLive(folder, keeping: kept)
      }
    }
    show(report, words)
    if !words.has("--json") { Terminal.print("live; to go back: subledger rebuild --rollback") }
    return .good
  }

  private static func rollBack(_ words: Arguments) throws(CommandError) -> ExitCode {
    let folder = words.folder(try words.configuration())
    let isDone: Bool
    if let daemon = ControlClient(folder) {
      let status = try daemon.post("/control/rows/rollback").status
      isDone = status != 404
      if isDone { try require(status) }
    } else {
      isDone = try CommandError.store { () throws(StoreError) in try Rebuild.rollBack(folder) }
    }
    guard isDone else { throw .findings("no projection is kept to go back to") }
    return try list(words)
  }

  private static func prune(_ words: Arguments) throws(CommandError) -> ExitCode {
    let folder = words.folder(try words.configuration())
    let kept = try kept(words, or: 0)
    try CommandError.building { () throws(StoreError) in try Rebuild.discard(folder) }
    if let daemon = ControlClient(folder) {
      try require(try daemon.post("/control/rows/prune?keep=\(kept)").status)
    } else {
      try CommandError.store { () throws(StoreError) in
        let lock = try folder.lock()
        try ProjectionFile.prune(folder, keeping: kept)
        withExtendedLifetime(lock) {}
      }
    }
    return try list(words)
  }

  private static func refold(
    _ id: String, _ words: Arguments
  ) throws(CommandError) -> ExitCode {
    let folder = words.folder(try words.configuration())
    let counts: (streams: Int64, changed: Int64)?
    if let daemon = ControlClient(folder) {
      guard id.utf8.allSatisfy({ 0x30...0x39 ~= $0 || 0x41...0x5A ~= $0 || 0x61...0x7A ~= $0 })
      else { throw .usage("--only takes an original transaction id") }
      let answer = try daemon.post("/control/rows/refold?id=\(id)")
      if answer.status != 409 { try require(answer.status) }
      counts = answer.body["streams"]?.integer.flatMap { streams in
        answer.body["changed"]?.integer.map { (streams, $0) }
      }
    } else {
      counts = try CommandError.store { () throws(StoreError) in
        try Rebuild.refold(only: id, folder).map { (Int64($0.streams), Int64($0.changed)) }
      }
    }
    guard let counts else {
      throw .findings("the live rows are of another fold; rebuild all of them: --apply")
    }
    guard counts.streams > 0 else {
      throw .findings("no events of that id; see: subledger events")
    }
    if words.has("--json") {
      Terminal.print(
        JSONValue.object([
          ("streams", .integer(counts.streams)), ("changed", .integer(counts.changed)),
        ]).text)
    } else {
      Terminal.print("\(counts.streams) folded anew, \(counts.changed) changed")
    }
    return .good
  }

  private static func require(_ status: Int) throws(CommandError) {
    guard status == 200 else {
      throw .unavailable("the daemon could not do it, its log says why; what was live stays live")
    }
  }

  // MARK: Listing

  private static func list(_ words: Arguments) throws(CommandError) -> ExitCode {
    let folder = words.folder(try words.configuration())
    let all = try CommandError.store { () throws(StoreError) in try Rebuild.projections(folder) }
    for item in all {
      Terminal.print(words.has("--json") ? item.json.text : text(item))
    }
    if all.isEmpty { Terminal.error("no projection is there; build one: subledger rebuild") }
    return .good
  }

  private static func text(_ item: Rebuild.ListedProjection) -> String {
    item.role.rawValue.padded(to: 10) + item.name.padded(to: 34)
      + "fold \(item.foldVersion) \(item.fingerprint.prefix(12))".padded(to: 24)
      + "\(item.rows) rows through seq \(item.foldedThrough), digest \(item.digest.prefix(12))"
  }
}

/// Progress on the terminal, and ^C.
struct RebuildObserver {
  let pace = ProgressReporter("rebuild")
  private let interruption = Interruption()

  static let stopped = CommandError.unavailable(
    "stopped; what is live is as it was, and the next rebuild goes on from here")

  init() { interruption.watch() }

  func shouldContinue(_ done: Int64, _ all: Int64) -> Bool {
    pace.show(done, of: all)
    return !interruption.isRequested
  }
}
