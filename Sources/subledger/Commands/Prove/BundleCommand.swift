import Configuration
import Encoding
import JournalStore
import LedgerAudit
import LedgerQueries
import Observability
import Platform
import StrictJSON

/// `export --bundle` and `verify --bundle`: one customer's evidence, made and checked.
enum BundleCommand {
  static func export(_ words: Arguments, to path: String) throws(CommandError) -> ExitCode {
    guard let id = words["--only"] else {
      throw .usage("a bundle is about one customer; say whom: --only OTID")
    }
    guard words["--output"] == nil, !words.has("--compress") else {
      throw .usage("--bundle says where to write; --output and --compress do not go with it")
    }
    let configuration = try words.configuration()
    let folder = words.folder(configuration)
    let asOf = try words.time("--as-of")
    let key = try key(id, words, folder)
    let anchors = try anchors(words["--anchors"], configuration)
    let signing = try CommandError.anchor { () throws(AnchorError) in
      try AnchorKey.readOrMake(folder)
    }
    let target = try ExportTarget(path, isReplacing: words.has("--force"))
    let interruption = Interruption()
    interruption.watch()
    let pace = ProgressReporter("export")
    let summary = try CommandError.anchor { () throws(AnchorError) in
      try BundleExport.run(
        folder, key, signing: signing, anchors: anchors, asOf: asOf, now: Clock.now(),
        durations: configuration.nonRenewingDurations
      ) { (line) throws(StoreError) in
        try target.write(line)
      } progress: { done, count in
        pace.show(done, of: count)
        return !interruption.isRequested
      }
    }
    guard let summary else { throw .unavailable("stopped; no file was made") }
    try CommandError.store { () throws(StoreError) in try target.finish() }
    report(summary, path, words)
    return .good
  }

  private static func key(
    _ id: String, _ words: Arguments, _ folder: DataFolder
  ) throws(CommandError) -> StreamKey {
    let environment = try words.environment() ?? "Production"
    let keys = try CommandError.store { () throws(StoreError) in
      try JournalReader.open(folder).streams(withOriginalTransactionId: id).filter {
        $0.environment == environment && words["--bundle-id"] ?? $0.bundleId == $0.bundleId
      }
    }
    guard let key = keys.first else { throw .findings("no events of that id in \(environment)") }
    guard keys.count == 1 else { throw CommandError(LedgerReader.Failure.ambiguous) }
    return key
  }

  /// Those of the file that is given, or else of the one the daemon appends to, where it did.
  private static func anchors(
    _ given: String?, _ configuration: Configuration?
  ) throws(CommandError) -> [Anchor] {
    do throws(PlatformError) {
      guard let path = given ?? configuration?.anchors?.file else { return [] }
      if given == nil, try DurableFile.size(path) == nil { return [] }
      let lines = try LineReader(path: path, maximum: Anchor.maximumLine, isPlain: true)
      var anchors: [Anchor] = []
      while let line = try lines.next() {
        if let anchor = Anchor(parsing: line) { anchors.append(anchor) }
      }
      return anchors
    } catch {
      throw .unavailable("\(error); give another --anchors")
    }
  }

  private static func report(
    _ summary: BundleExport.Summary, _ path: String, _ words: Arguments
  ) {
    let text =
      "\(summary.events) events, \(summary.links) links and \(summary.anchors) anchors"
      + " written to \(path)"
    if path == "-" {
      Terminal.error(text)
    } else if words.has("--json") {
      Terminal.print(
        JSONValue.object([
          ("events", .integer(summary.events)), ("links", .integer(summary.links)),
          ("anchors", .integer(summary.anchors)), ("output", .string(path)),
        ]).text)
    } else {
      Terminal.print(text)
    }
  }

  // MARK: Check

  static func check(_ words: Arguments, _ path: String) throws(CommandError) -> ExitCode {
    let roots = try words.configuration().trustRoots
    let kept = try words["--anchors"].map { (path) throws(CommandError) in
      try anchors(path, nil)
    }
    let report: BundleCheck.Report
    do throws(VerifyError) {
      report = try BundleCheck.run(
        path, roots: roots, keyFile: words["--anchor-key"], kept: kept ?? [])
    } catch {
      throw CommandError(error)
    }
    let isGood = report.findings.isEmpty
    Terminal.print(
      words.has("--json") ? json(report).text : text(report))
    return isGood ? .good : .findings
  }

  private static func text(_ report: BundleCheck.Report) -> String {
    var lines = Findings.lines(report.findings, count: report.findings.count)
    lines.append("\(report.events) events, \(report.anchors) anchors")
    if let time = report.asOf {
      let access = report.givesAccess ? "access" : "no access"
      lines.append("the answer as of \(Timestamp.text(time)): \(access)")
    }
    if report.kept > 0 { lines.append("\(report.kept) of its places are in the anchors kept") }
    if report.unsigned > 0 {
      lines.append("\(report.unsigned) of them are V1: nothing of Apple's proves those")
    }
    for (product, duration) in report.durations.sorted(by: { $0.key < $1.key }) {
      lines.append(
        "taken from who made it, not from Apple: \(VisibleText.of(product)) lasts "
          + "\(duration / 1000) seconds")
    }
    if let key = report.publicKey, !report.isKeyCompared {
      lines.append(
        "sealed by \(key); whose key that is, "
          + "only --anchor-key KEY.pem can tell")
    }
    lines.append(report.findings.isEmpty ? "the bundle holds" : "the bundle is not to be believed")
    return lines.joined(separator: "\n")
  }

  private static func json(_ report: BundleCheck.Report) -> JSONValue {
    .object([
      ("environment", .optional(report.key?.environment)),
      ("bundle_id", .optional(report.key?.bundleId)),
      ("original_transaction_id", .optional(report.key?.originalTransactionId)),
      ("events", .integer(report.events)), ("unsigned_events", .integer(report.unsigned)),
      ("anchors", .integer(report.anchors)),
      ("kept_anchors", .integer(report.kept)),
      ("public_key", .optional(report.publicKey)),
      ("key_compared", .boolean(report.isKeyCompared)),
      ("entitlement", report.answer ?? .null),
      ("answer_compared", .boolean(report.isAnswerCompared)),
      (
        "non_renewing_durations",
        .object(report.durations.sorted { $0.key < $1.key }.map { ($0.key, .integer($0.value)) })
      ),
      ("findings", Findings.json(report.findings)),
      ("finding_count", .integer(Int64(report.findings.count))),
    ])
  }
}
