import Clients
import Ledger
import Platform
import Queries
import Recovery
import Store

/// `recover`: journals what Apple sent and this ledger does not have, from Apple's notification
/// history, and reports the gaps (promise 11).
enum RecoverCommand {
  static let flags: [Command.Flag] = [
    .init("--since", "T", "from when on something may be missing; by default all that Apple has"),
    .init("--until", "T", "until when; by default now"),
    .init("--app", "ID", "ask only about the app with this bundle id"),
    .init("--environment", "E", "ask only in Production or Sandbox; both by default"),
    .init("--dry-run", "ask and report, and journal nothing"), .json,
  ]

  static func run(_ arguments: Arguments) throws(LedgerError) -> ExitCode {
    try arguments.requireNoOperand()
    let configuration = try arguments.configuration()
    let (since, until) = try times(arguments)
    let accounts = try AppStoreAccounts(
      configuration, app: arguments["--app"], environment: try arguments.environment()
    ).all
    let cancellation = Cancellation()
    _ = Interruption.started(cancellation)
    let folder = arguments.folder(configuration)
    let isDry = arguments.has("--dry-run")
    let lock = try isDry ? nil : lock(folder)
    defer { _ = lock }
    let ledger = try isDry ? nil : LocalLedger(folder, configuration)
    defer { ledger?.stop() }
    let journal = try JournalReader.open(folder, isPassing: true)
    let sink: any RecoverySink =
      if let ledger { ledger } else { DryRunSink(journal, try Receiver(configuration)) }
    let plan = RecoveryPlan(
      since: since, until: until, startedAt: Clock.now(), startSeq: try journal.head().seq)
    let scope = "\(arguments["--app"] ?? "") \(arguments["--environment"] ?? "")"
    let progress = isDry ? nil : try RecoveryProgress(folder, journal, plan, scope: scope)
    let report = recover(
      accounts, progress?.plan ?? plan, journal, sink, progress, cancellation)
    ledger?.waitForProjection(cancellation)
    for account in report.accounts {
      var last = RecoveryStatus.Last()
      last.recovery = account.summary(.command, at: Clock.now())
      ledger?.note(last, of: .init(account.environment, account.bundleId))
    }
    Terminal.print(report.json, or: RecoverText.text(report), arguments)
    return try code(of: report)
  }

  /// Recovers each app and environment. One that cannot be asked does not stop the others.
  private static func recover(
    _ accounts: [AppStoreAccount], _ plan: RecoveryPlan, _ journal: JournalReader,
    _ sink: any RecoverySink, _ progress: RecoveryProgress?, _ cancellation: Cancellation
  ) -> GapReport {
    if progress?.isResumed == true {
      Terminal.error("subledger recover: goes on where the last run was stopped")
    }
    var report = GapReport(plan, isDry: progress == nil)
    let reporter = RecoverProgress(accounts: accounts.count)
    for account in accounts {
      do throws(ClientError) {
        let client = try AppStoreClient(
          account, version: Subledger.version, policy: .background, cancellation: cancellation)
        let recovery = HistoryRecovery(client, plan, journal, sink, cancellation) {
          reporter.show($0)
        }
        report.add(recovery.run(progress))
        reporter.finishAccount()
      } catch {
        report.add(GapReport.Account(account, plan, failedWith: .unavailable("\(error)")))
      }
      if report.isCancelled { break }
    }
    if report.error == nil { progress?.finish() }
    return report
  }

  private static func code(of report: GapReport) throws(LedgerError) -> ExitCode {
    if report.isCancelled {
      Terminal.error("subledger recover: stopped; run it again to go on")
      return .interrupted
    }
    if let error = report.error { throw .unavailable("\(error)") }
    return report.hasFindings ? .findings : .good
  }

  // MARK: Arguments

  private static func times(
    _ arguments: Arguments
  ) throws(LedgerError) -> (since: Int64?, until: Int64?) {
    let (since, until) = (try arguments.time("--since"), try arguments.time("--until"))
    guard (since ?? 0) >= 0, (since ?? 0) < Clock.now() else {
      throw .usage("--since takes a time in the past")
    }
    guard (until ?? .max) > (since ?? 0) else { throw .usage("--until must be after --since") }
    return (since, until)
  }

  /// One recovery at a time, because each stores its progress.
  private static func lock(_ folder: DataFolder) throws(LedgerError) -> HeldLock {
    try folder.create()
    let lock = try mapError(
      { (error: LedgerError) in LedgerError.unavailable(error.detail) },
      try FolderLock.acquire(folder.recoveryLock))
    guard let lock else {
      throw .unavailable("another recover runs on this folder; wait until it ends")
    }
    return HeldLock(lock)
  }

  /// A lock that is held as long as the object lives.
  private final class HeldLock {
    private let lock: FolderLock

    init(_ lock: consuming FolderLock) { self.lock = lock }
  }
}
