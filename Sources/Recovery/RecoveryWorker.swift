import AppStoreClient
import Configuration
import HTTPClient
import JournalStore
import LedgerEngine
import Observability
import Platform
import StrictJSON

/// What the thread of `RecoveryService` does, from start to end.
final class RecoveryWorker {
  private let service: RecoveryService
  private var accounts = RecoveryAccounts()
  private var schedule: RecoverySchedule?
  private var failuresAskedAt: Int64?

  /// Milliseconds between two heartbeats.
  private static let interval: Int64 = 60_000
  /// Milliseconds after which a configuration that was reloaded, or a task that is due, is noticed.
  private static let poll: Int64 = 1000

  init(_ service: RecoveryService) { self.service = service }

  func run() {
    var beatAt = Int64.min
    while !service.cancellation.isRequested {
      // Without an app to ask about, nothing is stored and nothing is done.
      let current = accounts.automatic(service.configuration())
      service.update { $0.isOn = !current.isEmpty }
      if !current.isEmpty {
        attempt { () throws(StoreError) in
          let now = Clock.now()
          if schedule == nil { try begin(at: now) }
          if beatAt == .min || now - beatAt >= Self.interval || now < beatAt {
            try considerSilence(at: now)
            try beat(at: now)
            beatAt = now
          }
          try recoverIfDue(current, at: now)
        }
      }
      service.cancellation.wait(milliseconds: Self.poll)
    }
    if schedule != nil { attempt { () throws(StoreError) in try beat(at: Clock.now()) } }
  }

  /// A journal that cannot be read now is read again later.
  private func attempt(_ body: () throws(StoreError) -> Void) {
    do throws(StoreError) { try body() } catch {
      Log.write(.error, "recovery_failed", [("error", .string(error.description))])
      service.cancellation.wait(milliseconds: Self.interval)
    }
  }

  // MARK: Heartbeat

  private func begin(at now: Int64) throws(StoreError) {
    let journal = try JournalReader.open(service.ledger.folder)
    let last = Heartbeat.read(service.ledger.folder)
    failuresAskedAt = last?.failuresAskedAt
    schedule = RecoverySchedule(
      gap: try Heartbeat.gap(last, journal), failuresAskedAt: failuresAskedAt, at: now)
  }

  private func beat(at now: Int64) throws(StoreError) {
    let journal = try JournalReader.open(service.ledger.folder)
    let head = try journal.head()
    let heartbeat = Heartbeat(
      at: now, journalId: try journal.journalId(), seq: head.seq, hash: head.hash,
      pendingSince: schedule?.pendingSince, failuresAskedAt: failuresAskedAt)
    try mapError(StoreError.init, try heartbeat.write(service.ledger.folder))
    service.update { $0.nextAt = schedule?.nextDue }
  }

  private func considerSilence(at now: Int64) throws(StoreError) {
    let journal = try JournalReader.open(service.ledger.folder)
    guard let last = try journal.head().receivedAt else { return }
    let pause = try journal.longestPause(amongLast: 1000)
    schedule?.consider(lastReceived: last, longestPause: pause, at: now)
  }

  // MARK: Recovering

  private func recoverIfDue(_ current: [AppStoreAccount], at now: Int64) throws(StoreError) {
    guard let task = schedule?.next(at: now) else { return }
    Log.write(
      .info, "recovery_began",
      [("reason", .string(task.reason.rawValue)), ("since", .integer(task.since))])
    let report = try recover(current, task, at: now)
    // Ended by the shutdown: the heartbeat keeps from when on it is still to be done.
    if report.isCancelled { return }
    let end = Clock.now()
    let isComplete = report.error == nil
    schedule?.finish(task, at: end, isComplete: isComplete)
    if isComplete, task.reason == .failures { failuresAskedAt = end }
    record(report, task, at: end)
    try beat(at: end)
  }

  private func recover(
    _ current: [AppStoreAccount], _ task: RecoverySchedule.Task, at now: Int64
  ) throws(StoreError) -> GapReport {
    let journal = try JournalReader.open(service.ledger.folder)
    let configuration = service.configuration()
    let plan = RecoveryPlan(
      since: task.since, onlyFailures: task.reason == .failures, startedAt: now,
      startSeq: try journal.head().seq)
    var report = GapReport(plan, isDry: false)
    for account in current {
      do {
        let receiver = try Receiver(configuration, dictionary: service.ledger.dictionary)
        let sink = LedgerSink(
          service.ledger, receiver, bodyLimit: configuration.bodyLimit,
          onDisposition: service.onDisposition)
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

  private func record(_ report: GapReport, _ task: RecoverySchedule.Task, at end: Int64) {
    let requests = report.accounts.reduce(0) { $0 + $1.requests }
    let recovered = report.accounts.reduce(0) { $0 + $1.events }
    let delivered = report.accounts.reduce(0) { $0 + $1.delivered }
    service.update { status in
      status.requests += requests
      status.recovered += recovered
      status.delivered += delivered
      if report.error == nil { status.succeededAt = end } else { status.failures += 1 }
      status.nextAt = schedule?.nextDue
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
}
