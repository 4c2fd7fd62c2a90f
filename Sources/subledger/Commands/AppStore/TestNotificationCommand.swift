import Audit
import Ledger
import Platform

/// `test-notification`: has Apple send a TEST, and follows it into the journal.
enum TestNotificationCommand {
  static let flags: [Command.Flag] = [
    .init("--app", "ID", "the app with this bundle id, if several can be asked about"),
    .init("--environment", "E", "Production or Sandbox, if the app has both"),
    .init("--timeout", "SECONDS", "how long to wait for Apple's first attempt (60)"), .json,
  ]

  static func run(_ arguments: Arguments) throws(LedgerError) -> ExitCode {
    try arguments.requireNoOperand()
    let seconds = try arguments.number("--timeout", 1...3600) ?? 60
    let configuration = try arguments.configuration()
    let account = try AppStoreAccounts(
      configuration, app: arguments["--app"], environment: try arguments.environment()
    ).only()
    let proof = try NotificationProof(configuration.trustRoots)
    let cancellation = Cancellation()
    _ = Interruption.started(cancellation)
    let test = try TestNotification(
      account, arguments.folder(configuration), proof, timeout: seconds * 1000, cancellation
    ) { step in
      if !arguments.has("--json") { Terminal.print(step.text) }
    }
    let report = try test.follow()
    Terminal.print(
      report.json, or: last(report).map(\.text).joined(separator: "\n"), arguments)
    return report.failure == nil ? .good : .findings
  }

  /// The steps that are known at the end.
  private static func last(_ report: TestReport) -> [DoctorCheck] {
    var steps: [DoctorCheck] = []
    if let (seq, receivedAt) = report.journaled {
      steps.append(
        DoctorCheck("journal", "seq \(seq), received at \(Timestamp.text(receivedAt))"))
    }
    if let milliseconds = report.receivedAfter {
      steps.append(
        DoctorCheck(
          "time",
          "\(milliseconds) ms from the request to the receipt, Apple's part included "
            + "(ours: took_us in the log)"))
    }
    if let failure = report.failure {
      steps.append(DoctorCheck(failure.leg.rawValue, failure.what, next: failure.next))
    }
    return steps
  }
}
