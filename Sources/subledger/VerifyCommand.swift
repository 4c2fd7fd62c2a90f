import Platform
import StrictJSON
import SubscriptionLedger

enum VerifyCommand {
  static let flags: [Command.Flag] = [
    .init("--bundle", "FILE", "an evidence bundle instead of a data folder"),
    .init("--anchor-key", "FILE", "the public key that anchors must be signed with"), .json,
  ]
  private static let shown = 20

  static func run(_ words: CommandLineWords) throws(CommandError) -> ExitCode {
    try words.none()
    if let bundle = words["--bundle"] { return try BundleCommand.check(words, bundle) }
    let configuration = try words.configuration()
    let interruption = Interruption()
    interruption.watch()
    let pace = Pace("verify")
    let report: Verify.Report
    do throws(VerifyError) {
      report = try Verify.run(
        words.folder(configuration), configuration, threads: ProcessLimits.processors
      ) { done, head in
        pace.show(done, of: head)
        return !interruption.isRequested
      }
    } catch {
      switch error {
      case .store(let error): throw .store(error)
      case .configuration(let error): throw .configuration(error)
      }
    }
    guard !report.isStopped else { throw .unavailable("stopped after \(report.events) events") }
    pace.finish(report.events)
    Terminal.print(words.has("--json") ? json(report).text : text(report))
    return report.findingCount == 0 ? .good : .findings
  }

  private static func text(_ report: Verify.Report) -> String {
    var lines = report.findings.prefix(shown).map { finding in
      "promise \(finding.promise) broken"
        + (finding.seq.map { " at seq \($0)" } ?? "") + ": \(finding.what)"
    }
    let more = report.findingCount - lines.count
    if more > 0 { lines.append("and \(more) more") }
    lines.append("\(report.events) events, \(report.rows) rows, digest \(report.digest ?? "–")")
    if !report.areRowsCompared {
      lines.append("the rows are of another fold: only the program that made them can compare them")
    }
    lines.append(report.findingCount == 0 ? "every promise holds" : "the data is not as promised")
    return lines.joined(separator: "\n")
  }

  private static func json(_ report: Verify.Report) -> JSONValue {
    .object([
      ("events", .integer(report.events)), ("rows", .integer(report.rows)),
      ("digest", .optional(report.digest)), ("rows_compared", .boolean(report.areRowsCompared)),
      ("findings", .array(report.findings.map(json))),
      ("finding_count", .integer(Int64(report.findingCount))),
    ])
  }

  private static func json(_ finding: Verify.Finding) -> JSONValue {
    .object([
      ("promise", .integer(Int64(finding.promise))), ("seq", .optional(finding.seq)),
      ("what", .string(finding.what)),
    ])
  }
}
