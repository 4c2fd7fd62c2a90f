import Audit
import Ledger
import Platform
import Store
import StrictJSON

/// `verify`: checks every promise on the data at rest, or an evidence bundle.
enum VerifyCommand {
  static let flags: [Command.Flag] = [
    .init("--anchors", "FILE", "compare the journal with each anchor of FILE; - is standard input"),
    .init("--anchor-key", "FILE", "public key of the anchors in PEM; the folder's own by default"),
    .init("--chain", "check only seq, hash and body: no signature, column or row"),
    .init("--only", "OTID", "check one customer's events and rows, not the rest of the chain"),
    .init("--environment", "E", "with --only: Production or Sandbox; both by default"),
    .init("--bundle-id", "ID", "with --only: one app"),
    .init("--bundle", "FILE", "check an evidence bundle instead of a data folder"), .json,
  ]

  static func run(_ arguments: Arguments) throws(LedgerError) -> ExitCode {
    // A daemon that runs on the same machine goes first.
    Niceness.background.apply()
    try arguments.requireNoOperand()
    if let bundle = arguments["--bundle"] {
      for flag in ["--only", "--chain", "--environment", "--bundle-id"]
      where arguments[flag] != nil || arguments.has(flag) {
        throw .usage("\(flag) is about a data folder and does not go with --bundle")
      }
      return try BundleCommand.check(arguments, bundle)
    }
    let readable = try arguments.readable(
      arguments.has("--chain") ? [.data] : [.data, .trustRoots])
    let configuration = readable.configuration
    let only = try only(arguments)
    guard
      arguments["--anchor-key"] == nil || arguments["--anchors"] != nil
        || configuration.anchors != nil
    else {
      throw .usage("--anchor-key needs --anchors, because the configuration names no anchors")
    }
    if only == nil, arguments["--anchors"] == nil, readable.missing.contains(.anchors) {
      Terminal.error("warning: no anchors are compared; --anchors FILE names them", .yellow)
    }
    let interruption = Interruption.started()
    let reporter = ProgressReporter("verify")
    let progress: @Sendable (Int64, Int64) -> Bool = { done, total in
      reporter.show(done, of: total)
      return !interruption.isRequested
    }
    let report: CheckReport?
    let folder = arguments.folder(configuration)
    let threads = ProcessLimits.processors
    if let only {
      report = try Verify.run(
        folder, configuration, only: only, threads: threads, progress: progress)
    } else {
      report = try Verify.run(
        folder, configuration, anchors: try anchors(arguments, configuration),
        isChainAlone: arguments.has("--chain"), threads: threads, progress: progress)
    }
    guard let report else {
      let suffix = only?.environment.map { " in \($0)" } ?? ""
      throw .findings("no events with this id\(suffix); see: subledger events")
    }
    guard !report.isStopped else {
      throw .stopped("stopped after \(CountText.of(report.events, "events"))")
    }
    reporter.finish(report.events)
    return report.findings.report(facts(report, only), text(report, only), arguments)
  }

  private static func only(_ arguments: Arguments) throws(LedgerError) -> Verify.Only? {
    guard let id = arguments["--only"] else {
      for flag in ["--environment", "--bundle-id"] where arguments[flag] != nil {
        throw .usage("\(flag) goes with --only")
      }
      return nil
    }
    for flag in ["--anchors", "--anchor-key"] where arguments[flag] != nil {
      throw .usage("\(flag) is about the whole chain and does not go with --only")
    }
    guard !arguments.has("--chain") else {
      throw .usage("--chain is about the whole chain and does not go with --only")
    }
    return Verify.Only(
      id, environment: try arguments.environment(), bundleId: arguments["--bundle-id"])
  }

  /// The anchors of the given file, or else of the configured one.
  ///
  /// - Throws: `LedgerError.anchorFile` if the file or the key cannot be read.
  private static func anchors(
    _ arguments: Arguments, _ configuration: Configuration
  ) throws(LedgerError) -> AnchorsFile? {
    do throws(LedgerError) {
      guard let file = arguments["--anchors"] else {
        return try AnchorsFile.configured(configuration, keyFile: arguments["--anchor-key"])
      }
      return try AnchorsFile.open(
        file, keyFile: arguments["--anchor-key"], of: arguments.folder(configuration))
    } catch {
      throw error
    }
  }

  // MARK: Report

  private static func text(_ report: CheckReport, _ only: Verify.Only?) -> [String] {
    var lines: [String] = []
    if let only {
      lines.append(
        "\(CountText.of(report.events, "events")) and \(CountText.of(report.rows, "rows")) of "
          + only.originalTransactionId)
      lines.append("the rest of the chain was not checked; without --only it is")
    } else if report.isChainAlone {
      lines.append(CountText.of(report.events, "events"))
      lines.append("signatures, columns and rows were not checked; without --chain they are")
    } else {
      lines.append(
        "\(CountText.of(report.events, "events")), \(CountText.of(report.rows, "rows")), "
          + "digest \(report.digest ?? "–")")
      if report.statements > 0 {
        lines.append(
          report.statements == 1
            ? "one of the events is your statement, not Apple's"
            : "\(report.statements) of the events are your statements, not Apple's")
      }
    }
    if !report.comparesProjection && !report.isChainAlone {
      lines.append(
        "the rows are of another fold: only the program that folded them can compare them")
    }
    if let anchors = report.anchors { lines += text(anchors) }
    let success =
      report.isChainAlone
      ? "the chain holds"
      : report.isWhole ? "every promise holds" : "for these, every promise holds"
    return lines + [report.findings.isEmpty ? success : "the data breaks a promise"]
  }

  private static func text(_ anchors: AnchorsOutcome) -> [String] {
    let file = anchors.file + (anchors.isConfigured ? " (configured)" : "")
    let end = anchors.through.map { ", up to seq \($0)" } ?? ""
    let lines = [
      "\(CountText.of(anchors.held, "anchors")) of \(file) "
        + (anchors.held == 1 ? "holds" : "hold") + end
    ]
    return anchors.isTorn ? lines + ["its last line is incomplete and was ignored"] : lines
  }

  private static func facts(
    _ report: CheckReport, _ only: Verify.Only?
  ) -> [(String, JSONValue)] {
    [
      ("only", .optional(only?.originalTransactionId)),
      ("chain_walked", .boolean(report.isWhole)), ("chain_alone", .boolean(report.isChainAlone)),
      ("events", .integer(report.events)), ("statements", .integer(report.statements)),
      ("rows", .integer(report.rows)),
      ("digest", .optional(report.digest)), ("rows_compared", .boolean(report.comparesProjection)),
      ("anchors", report.anchors.map(json) ?? .null),
    ]
  }

  private static func json(_ anchors: AnchorsOutcome) -> JSONValue {
    .object([
      ("file", .string(anchors.file)), ("configured", .boolean(anchors.isConfigured)),
      ("held", .integer(anchors.held)), ("through", .optional(anchors.through)),
      ("torn_last_line", .boolean(anchors.isTorn)),
    ])
  }
}
