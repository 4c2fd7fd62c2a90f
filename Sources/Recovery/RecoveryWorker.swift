import Clients
import Ledger
import Platform
import Queries
import Store
import StrictJSON

/// What the thread of `RecoveryService` does, from start to end.
final class RecoveryWorker {
  private let service: RecoveryService
  private var accounts = RecoveryAccounts()
  private(set) var schedule: RecoverySchedule?
  private var desk: RefundDesk?
  private var beatAt: Int64?
  private var failuresAskedAt: Int64?
  private var reconciledAt: Int64?
  /// The reconciliation that is under way.
  private var reconciliation: (run: DueReconciliation, sink: LedgerSink)?

  /// Milliseconds between two heartbeats.
  private static let interval: Int64 = 60_000
  /// Milliseconds after which a configuration that was reloaded, or a task that is due, is noticed.
  private static let poll: Int64 = 1000
  /// Nanoseconds of a reconciliation between two looks for what is more urgent.
  private static let reconciling: Int64 = 20_000_000_000

  /// Notifications that are committed together, so that one that Apple posts waits for few others.
  private static let batchLimit = 2

  init(_ service: RecoveryService) { self.service = service }

  func run() {
    service.thread.work {
      // Without an app to ask about and requests to tell of, nothing is stored and nothing is done.
      let configuration = service.configuration()
      let current = accounts.automatic(configuration)
      service.update { $0.isOn = !current.isEmpty }
      if current.isEmpty { reconciliation = nil }
      if current.isEmpty, configuration.refundPolicies == nil { return .after(Self.poll) }
      if !service.ledger.duties.leases(.recovery) {
        // Another daemon of the shared journal does it. Who takes over begins anew.
        (reconciliation, schedule, beatAt) = (nil, nil, nil)
      } else {
        attempt { () throws(LedgerError) in
          if !current.isEmpty { try ask(current, at: Clock.now()) }
          if desk == nil { desk = try RefundDesk(service) }
          try desk?.work(current, at: Clock.now())
        }
      }
      return .after(Self.poll)
    }
    if schedule != nil { attempt { () throws(LedgerError) in try beat(at: Clock.now()) } }
  }

  /// A journal that cannot be read now is read again later.
  private func attempt(_ body: () throws(LedgerError) -> Void) {
    do throws(LedgerError) { try body() } catch {
      StoreErrors.record(.recovery, "recovery_failed", error)
      service.cancellation.wait(milliseconds: Self.interval)
    }
  }

  private func ask(_ current: [AppStoreAccount], at now: Int64) throws(LedgerError) {
    if schedule == nil { try begin(at: now) }
    if beatAt.map({ now - $0 >= Self.interval || now < $0 }) ?? true {
      try considerSilence(at: now)
      try beat(at: now)
      beatAt = now
    }
    try workIfDue(current, at: now)
  }

  // MARK: Heartbeat

  /// Makes the schedule, from what was stored when the daemon was last alive.
  func begin(at now: Int64) throws(LedgerError) {
    let journal = try JournalReader.open(service.ledger.folder)
    let last =
      service.ledger.duties.position(.recovery).flatMap { Heartbeat(parsing: $0) }
      ?? Heartbeat.read(service.ledger.folder)
    failuresAskedAt = last?.failuresAskedAt
    reconciledAt = last?.reconciledAt
    schedule = RecoverySchedule(
      gap: try Heartbeat.gap(last, service.firstHead, journal), failuresAskedAt: failuresAskedAt,
      reconciledAt: reconciledAt, at: now)
    service.update { $0.reconciliation.succeededAt = reconciledAt }
  }

  private func beat(at now: Int64) throws(LedgerError) {
    let journal = try JournalReader.open(service.ledger.folder)
    let head = try journal.head()
    let heartbeat = Heartbeat(
      at: now, journalId: try journal.journalId(), seq: head.seq, hash: head.hash,
      pendingSince: schedule?.pendingSince, failuresAskedAt: failuresAskedAt,
      reconciledAt: reconciledAt)
    try heartbeat.write(service.ledger.folder)
    service.ledger.duties.save(heartbeat.bytes, of: .recovery)
    service.update(showNext)
  }

  private func showNext(_ status: inout RecoveryStatus) {
    status.nextAt = schedule?.nextRecovery
    status.reconciliation.nextAt = schedule?.nextReconciliation
  }

  private func considerSilence(at now: Int64) throws(LedgerError) {
    let journal = try JournalReader.open(service.ledger.folder)
    guard let last = try journal.head().receivedAt else { return }
    let pause = try journal.longestPause(amongLast: 1000)
    schedule?.consider(lastReceived: last, longestPause: pause, at: now)
  }

  private func workIfDue(_ current: [AppStoreAccount], at now: Int64) throws(LedgerError) {
    guard let task = schedule?.next(at: now) else { return }
    if task.reason == .reconciliation {
      try reconcile(current, task)
    } else {
      try recover(current, task, at: now)
    }
  }

  // MARK: Recovering

  private func recover(
    _ current: [AppStoreAccount], _ task: RecoverySchedule.Task, at now: Int64
  ) throws(LedgerError) {
    Log.write(
      .info, "recovery_began",
      [("reason", .string(task.reason.rawValue)), ("since", .integer(task.since))])
    let report = try report(current, task, at: now)
    // Ended by the shutdown: the heartbeat keeps from when on it is still to be done.
    if report.isCancelled { return }
    let end = Clock.now()
    let isComplete = report.error == nil
    schedule?.finish(task, at: end, isComplete: isComplete)
    if isComplete, task.reason == .failures { failuresAskedAt = end }
    record(report, task, at: end)
    try beat(at: end)
  }

  private func report(
    _ current: [AppStoreAccount], _ task: RecoverySchedule.Task, at now: Int64
  ) throws(LedgerError) -> GapReport {
    let journal = try JournalReader.open(service.ledger.folder, isPassing: true)
    let configuration = service.configuration()
    let plan = RecoveryPlan(
      since: task.since, onlyFailures: task.reason == .failures, startedAt: now,
      startSeq: try journal.head().seq)
    var report = GapReport(plan, isDry: false)
    for account in current {
      do {
        let sink = try sink(configuration)
        let client = try AppStoreClient(
          account, version: service.version, policy: .background,
          cancellation: service.cancellation)
        report.add(HistoryRecovery(client, plan, journal, sink, service.cancellation).run())
      } catch {
        report.add(GapReport.Account(account, plan, failedWith: .unavailable("\(error)")))
      }
      if report.isCancelled { break }
    }
    return report
  }

  private func sink(_ configuration: Configuration) throws(LedgerError) -> LedgerSink {
    LedgerSink(
      service.ledger, try Receiver(configuration, dictionary: service.ledger.dictionary),
      bodyLimit: configuration.bodyLimit, batchLimit: Self.batchLimit,
      onOutcome: service.onOutcome)
  }

  private func record(_ report: GapReport, _ task: RecoverySchedule.Task, at end: Int64) {
    let requests = report.accounts.reduce(0) { $0 + $1.requests }
    let recovered = report.accounts.reduce(0) { $0 + $1.events }
    let delivered = report.accounts.reduce(0) { $0 + $1.delivered }
    service.update { status in
      status.requests += requests
      status.recovered += recovered
      status.delivered += delivered
      if report.error == nil { status.succeededAt = end } else { status.failures += 1 }
      showNext(&status)
      for account in report.accounts {
        status.apps[.init(account.environment, account.bundleId), default: .init()].recovery =
          account.summary(task.reason, at: end)
      }
    }
    // What is gone is one day less than what was asked for at both ends.
    let gone = report.accounts.contains { $0.gone.map { !$0.isEmpty } ?? false }
    let isAlarm = delivered > 0 || gone || report.error != nil
    Log.write(
      isAlarm ? .warning : .info, "recovery_ended",
      [
        ("reason", .string(task.reason.rawValue)), ("requests", .integer(requests)),
        ("recovered", .integer(recovered)), ("delivered", .integer(delivered)),
        ("gone", .boolean(gone)), ("error", .optional(report.error?.description)),
        (
          "next", .optional(isAlarm ? "for the whole report: subledger recover" : nil)
        ),
      ])
  }

  // MARK: Reconciling

  /// Goes on with the reconciliation for some seconds.
  private func reconcile(
    _ current: [AppStoreAccount], _ task: RecoverySchedule.Task
  ) throws(LedgerError) {
    guard let (run, sink) = try reconciliation(of: current) else {
      schedule?.finish(task, at: Clock.now(), isComplete: false)
      return
    }
    let stop = Clock.monotonicNanoseconds() + Self.reconciling
    let isDone = run.advance(
      clock: Clock.now,
      until: { service.cancellation.isRequested || Clock.monotonicNanoseconds() >= stop }
    ) { (lines) throws(LedgerError) in
      let outcomes = sink.submit(lines: lines)
      for case .refused(.unavailable(let code)) in outcomes {
        throw .unavailable("nothing can be journaled (\(code))")
      }
      return outcomes
    }
    guard isDone else { return }
    reconciliation = nil
    let end = Clock.now()
    let isComplete = run.results.allSatisfy { $0.found.error == nil }
    schedule?.finish(task, at: end, isComplete: isComplete)
    if isComplete { reconciledAt = end }
    record(run.results, at: end)
    try beat(at: end)
  }

  /// The one that is under way, or a new one if there is none for these apps. Nil if the trust
  /// roots of the configuration cannot be used.
  private func reconciliation(
    of current: [AppStoreAccount]
  ) throws(LedgerError) -> (run: DueReconciliation, sink: LedgerSink)? {
    if let reconciliation, reconciliation.run.isAbout(current) { return reconciliation }
    let configuration = service.configuration()
    guard let sink = try? sink(configuration) else { return nil }
    let reader = try LedgerReader(service.ledger)
    let apps = current.compactMap { account -> DueReconciliation.App? in
      configuration.apps[account.bundleId]?.appStore.map { (account, $0.reconcileAfter) }
    }
    let reconciler = Reconciler(
      reader, version: service.version, .background, service.cancellation)
    let made = (run: DueReconciliation(apps, reader, reconciler), sink: sink)
    reconciliation = made
    return made
  }

  private func record(_ results: [DueReconciliation.Result], at end: Int64) {
    func sum(_ count: KeyPath<RecoveryStatus.Reconciliation, Int64>) -> Int64 {
      results.reduce(0) { $0 + $1.found[keyPath: count] }
    }
    let error = results.lazy.compactMap(\.found.error).first
    service.update { status in
      status.reconciliation.asked += sum(\.asked)
      status.reconciliation.differed += sum(\.differed)
      status.reconciliation.journaled += sum(\.journaled)
      if error == nil {
        status.reconciliation.succeededAt = end
      } else {
        status.reconciliation.failures += 1
      }
      showNext(&status)
      for result in results {
        var found = result.found
        found.at = end
        status.apps[.init(result.environment, result.bundleId), default: .init()].reconciliation =
          found
      }
    }
    let remaining = results.flatMap(\.remainingIds)
    Log.write(
      error == nil && remaining.isEmpty ? .info : .warning, "reconciled",
      [
        ("asked", .integer(sum(\.asked))), ("differed", .integer(sum(\.differed))),
        ("remaining", .integer(sum(\.remaining))), ("journaled", .integer(sum(\.journaled))),
        ("unknown", .integer(sum(\.unknown))), ("failed", .integer(sum(\.failed))),
        ("customers", .array(remaining.map(JSONValue.string))), ("error", .optional(error)),
        (
          "next",
          .optional(remaining.isEmpty ? nil : "to see what differs: subledger reconcile OTID")
        ),
      ])
  }
}
