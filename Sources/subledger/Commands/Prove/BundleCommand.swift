import AppStore
import Audit
import Ledger
import Platform
import Queries
import Store
import StrictJSON

/// `export --bundle` and `verify --bundle`: writes and checks one customer's evidence.
enum BundleCommand {
  static func export(_ arguments: Arguments, to path: String) throws(LedgerError) -> ExitCode {
    guard let id = arguments["--only"] else {
      throw .usage("a bundle is about one customer: give --only OTID")
    }
    guard arguments["--output"] == nil else {
      throw .usage("--output does not go with --bundle, which names the file")
    }
    let configuration = try arguments.configuration()
    let folder = arguments.folder(configuration)
    let asOf = try arguments.time("--as-of")
    let key = try key(id, arguments, folder)
    let anchors = try anchors(arguments["--anchors"], configuration)
    let signing = try AnchorKey.readOrMake(folder)
    let target = try ExportTarget(
      path, isReplacing: arguments.has("--force"), isCompressed: arguments.has("--compress"))
    let interruption = Interruption.started()
    let progress = ProgressReporter("export")
    let summary = try BundleExport.run(
      folder, key, signing: signing, anchors: anchors,
      // Given ones are what the reader knows, however far they are.
      maximumLinks: arguments["--anchors"] == nil ? Configuration.Anchors.usualEvents : .max,
      asOf: asOf, now: Clock.now(), durations: configuration.durations
    ) { (line) throws(LedgerError) in
      try target.write(line)
    } progress: { done, count in
      progress.show(done, of: count)
      return !interruption.isRequested
    }
    guard let summary else { throw .stopped("stopped; no file was made") }
    try target.finish()
    report(summary, path, arguments)
    return .good
  }

  private static func key(
    _ id: String, _ arguments: Arguments, _ folder: DataFolder
  ) throws(LedgerError) -> StreamKey {
    let environment = try arguments.environment() ?? .production
    let keys = try JournalReader.open(folder).streams(withOriginalTransactionId: id).filter {
      $0.environment == environment && arguments["--bundle-id"] ?? $0.bundleId == $0.bundleId
    }
    guard let key = keys.first else { throw .findings("no events with this id in \(environment)") }
    guard keys.count == 1 else { throw LedgerError.ambiguous }
    return key
  }

  /// The anchors of the given file; else those of the folder and of the configured file, which need
  /// not exist.
  private static func anchors(
    _ given: String?, _ configuration: Configuration
  ) throws(LedgerError) -> [Anchor] {
    if let given { return try anchors(of: given) }
    let own = DataFolder(path: configuration.data).anchors
    var anchors: [Anchor] = []
    for path in [own, configuration.anchors?.file].compactMap({ $0 }) {
      let size = try? DurableFile.size(path)
      if size ?? nil != nil { anchors += try self.anchors(of: path) }
    }
    return anchors
  }

  private static func anchors(of path: String) throws(LedgerError) -> [Anchor] {
    do throws(LedgerError) {
      let lines = try LineReader(path: path, maximum: Anchor.maximumLine, isPlain: true)
      var anchors: [Anchor] = []
      while let line = try lines.next() {
        if let anchor = Anchor(parsing: line) { anchors.append(anchor) }
      }
      return anchors
    } catch {
      throw .unavailable("\(error.detail); give another --anchors")
    }
  }

  private static func report(
    _ summary: BundleSummary, _ path: String, _ arguments: Arguments
  ) {
    let text =
      "\(CountText.of(summary.events, "events")), \(CountText.of(summary.links, "links")) and "
      + "\(CountText.of(summary.anchors, "anchors")) written to \(path)"
    if path == "-" {
      Terminal.error(text)
    } else if arguments.has("--json") {
      Terminal.print(
        .object([
          ("events", .integer(summary.events)), ("links", .integer(summary.links)),
          ("anchors", .integer(summary.anchors)), ("output", .string(path)),
        ]))
    } else {
      Terminal.print(text)
    }
  }

  // MARK: Check

  static func check(_ arguments: Arguments, _ path: String) throws(LedgerError) -> ExitCode {
    let roots = try arguments.readable([.trustRoots]).configuration.trustRoots
    let given = try arguments["--anchors"].map { (path) throws(LedgerError) in
      try anchors(of: path)
    }
    let report = try BundleCheck.run(
      path, roots: roots, keyFile: arguments["--anchor-key"], known: given ?? [])
    return report.findings.report(facts(report), text(report), arguments)
  }

  private static func text(_ report: BundleReport) -> [String] {
    var lines = [
      "\(CountText.of(report.events, "events")), \(CountText.of(report.anchors, "anchors"))"
    ]
    if let time = report.asOf {
      let access = report.givesAccess ? "access" : "no access"
      lines.append("the answer as of \(Timestamp.text(time)): \(access)")
    }
    if report.matchedAnchors > 0 {
      lines.append("\(report.matchedAnchors) of its chain hashes are in the given anchors")
    }
    let kinds = [
      (report.unsigned - report.statements, "V1"),
      (report.statements, "statements of the ledger's owner"),
    ]
    for (count, kind) in kinds where count > 0 {
      lines.append("\(count) of the events are \(kind), and carry no signature of Apple")
    }
    for (product, duration) in report.durations.sorted(by: { $0.key < $1.key }) {
      lines.append(
        "not from Apple but from the maker of the bundle: \(VisibleText.of(product)) lasts "
          + "\(duration / 1000) seconds")
    }
    if let key = report.publicKey, !report.isKeyCompared {
      lines.append(
        "sealed by the key \(key), which was not compared; give --anchor-key KEY.pem")
    }
    return lines + [report.findings.isEmpty ? "the bundle holds" : "the bundle does not hold"]
  }

  private static func facts(_ report: BundleReport) -> [(String, JSONValue)] {
    [
      ("environment", .optional(report.key?.environment.rawValue)),
      ("bundle_id", .optional(report.key?.bundleId)),
      ("original_transaction_id", .optional(report.key?.originalTransactionId)),
      ("events", .integer(report.events)), ("unsigned_events", .integer(report.unsigned)),
      ("owner_statements", .integer(report.statements)),
      ("anchors", .integer(report.anchors)),
      ("kept_anchors", .integer(report.matchedAnchors)),
      ("public_key", .optional(report.publicKey)),
      ("key_compared", .boolean(report.isKeyCompared)),
      ("entitlement", report.answer ?? .null),
      ("answer_compared", .boolean(report.isAnswerCompared)),
      (
        "non_renewing_durations",
        .object(report.durations.sorted { $0.key < $1.key }.map { ($0.key, .integer($0.value)) })
      ),
    ]
  }
}
