import Configuration
import JournalStore
import LedgerAudit
import Platform
import StrictJSON

enum VerifyCommand {
  static let flags: [Command.Flag] = [
    .init("--anchors", "FILE", "hold the journal to each anchor of FILE; - is standard input"),
    .init("--anchor-key", "FILE", "public key of the anchors in PEM; else the folder's own"),
    .init("--chain", "places, hashes and bodies alone: no signature, column or row"),
    .init("--only", "OTID", "one customer's events and rows; the rest is not walked"),
    .init("--environment", "E", "with --only: Production or Sandbox; both by default"),
    .init("--bundle-id", "ID", "with --only: one app"),
    .init("--bundle", "FILE", "an evidence bundle instead of a data folder"), .json,
  ]

  static func run(_ words: Arguments) throws(CommandError) -> ExitCode {
    // A daemon may be running beside it.
    ProcessLimits.yield(.toAll)
    try words.none()
    if let bundle = words["--bundle"] {
      for flag in ["--only", "--chain", "--environment", "--bundle-id"]
      where words[flag] != nil || words.has(flag) {
        throw .usage("\(flag) is about a data folder; leave out --bundle")
      }
      return try BundleCommand.check(words, bundle)
    }
    let configuration = try words.configuration()
    let only = try only(words)
    guard words["--anchor-key"] == nil || words["--anchors"] != nil || configuration.anchors != nil
    else { throw .usage("--anchor-key goes with --anchors, and the configuration names none") }
    let interruption = Interruption()
    interruption.watch()
    let pace = ProgressReporter("verify")
    let progress: @Sendable (Int64, Int64) -> Bool = { done, all in
      pace.show(done, of: all)
      return !interruption.isRequested
    }
    let report: Verify.Report?
    do throws(VerifyError) {
      let folder = words.folder(configuration)
      let threads = ProcessLimits.processors
      if let only {
        report = try Verify.run(
          folder, configuration, only: only, threads: threads, progress: progress)
      } else {
        report = try Verify.run(
          folder, configuration, anchors: try anchors(words, configuration),
          isChainAlone: words.has("--chain"), threads: threads,
          progress: progress)
      }
    } catch {
      throw CommandError(error)
    }
    guard let report else {
      let place = only?.environment.map { " in \($0)" } ?? ""
      throw .findings("no events of that id\(place); see: subledger events")
    }
    guard !report.isStopped else { throw .unavailable("stopped after \(report.events) events") }
    pace.finish(report.events)
    Terminal.print(words.has("--json") ? json(report, only).text : text(report, only))
    return report.findingCount == 0 ? .good : .findings
  }

  private static func only(_ words: Arguments) throws(CommandError) -> Verify.Only? {
    guard let id = words["--only"] else {
      for flag in ["--environment", "--bundle-id"] where words[flag] != nil {
        throw .usage("\(flag) goes with --only")
      }
      return nil
    }
    for flag in ["--anchors", "--anchor-key"] where words[flag] != nil {
      throw .usage("\(flag) is about the whole chain; leave out --only")
    }
    guard !words.has("--chain") else {
      throw .usage("--chain is about the whole chain; leave out --only")
    }
    return Verify.Only(id, environment: try words.environment(), bundleId: words["--bundle-id"])
  }

  /// What is given, or else what the configuration names.
  private static func anchors(
    _ words: Arguments, _ configuration: Configuration
  ) throws(VerifyError) -> AnchorsFile? {
    do throws(AnchorError) {
      guard let file = words["--anchors"] else {
        return try AnchorsFile.configured(configuration, keyFile: words["--anchor-key"])
      }
      return try AnchorsFile.open(
        file, keyFile: words["--anchor-key"], of: words.folder(configuration))
    } catch {
      throw .anchors(error)
    }
  }

  // MARK: What was found

  private static func text(_ report: Verify.Report, _ only: Verify.Only?) -> String {
    var lines = Findings.lines(report.findings, count: report.findingCount)
    if let only {
      lines.append(
        "\(report.events) events and \(report.rows) rows of \(only.originalTransactionId)")
      lines.append("the rest of the chain was not walked; without --only it is")
    } else if report.isChainAlone {
      lines.append("\(report.events) events")
      lines.append("signatures, columns and rows were not looked at; without --chain they are")
    } else {
      lines.append(
        "\(report.events) events, \(report.rows) rows, digest \(report.digest ?? "–")")
    }
    if !report.comparesProjection && !report.isChainAlone {
      lines.append("the rows are of another fold: only the program that made them can compare them")
    }
    if let anchors = report.anchors { lines += text(anchors) }
    let good =
      report.isChainAlone
      ? "the chain holds"
      : report.isWhole ? "every promise holds" : "for these, every promise holds"
    lines.append(report.findingCount == 0 ? good : "the data is not as promised")
    return lines.joined(separator: "\n")
  }

  private static func text(_ anchors: AnchorsOutcome) -> [String] {
    let file = anchors.file + (anchors.isConfigured ? " (configured)" : "")
    let end = anchors.through.map { ", up to seq \($0)" } ?? ""
    let lines = ["\(anchors.held) anchors of \(file) hold\(end)"]
    return anchors.isTorn ? lines + ["its last line is torn and says nothing"] : lines
  }

  private static func json(_ report: Verify.Report, _ only: Verify.Only?) -> JSONValue {
    .object([
      ("only", .optional(only?.originalTransactionId)),
      ("chain_walked", .boolean(report.isWhole)), ("chain_alone", .boolean(report.isChainAlone)),
      ("events", .integer(report.events)), ("rows", .integer(report.rows)),
      ("digest", .optional(report.digest)), ("rows_compared", .boolean(report.comparesProjection)),
      ("anchors", report.anchors.map(json) ?? .null),
      ("findings", Findings.json(report.findings)),
      ("finding_count", .integer(Int64(report.findingCount))),
    ])
  }

  private static func json(_ anchors: AnchorsOutcome) -> JSONValue {
    .object([
      ("file", .string(anchors.file)), ("configured", .boolean(anchors.isConfigured)),
      ("held", .integer(anchors.held)), ("through", .optional(anchors.through)),
      ("torn_last_line", .boolean(anchors.isTorn)),
    ])
  }
}

extension CommandError {
  init(_ error: VerifyError) {
    switch error {
    case .store(let error), .anchors(.store(let error)): self = .store(error)
    case .configuration(let error): self = .configuration(error)
    case .anchors(let error): self = .unavailable(error.description)
    }
  }
}
