public import AppStore
public import Clients
import Ledger
public import Platform
public import Store

/// Fills a journal from ids: asks Apple for everything about each customer, and hands it over as
/// evidence.
///
/// Several threads ask, each with connections of its own, because an answer takes longer than the
/// pause between two requests within Apple's limits. One thread, the caller's, hands over.
public final class EvidenceImport {
  private let accounts: [AppStoreAccount]
  private let version: String
  private let cancellation: Cancellation
  private let answers = BoundedQueue<Answer>(capacity: threads)

  private struct Task: Sendable {
    let index: Int
    let id: String
  }

  /// A thread that asks for one id after the other.
  private struct Worker {
    let tasks = BoundedQueue<Task>(capacity: 1)
    let ended = WakeupEvent()
  }

  private struct Answer: Sendable {
    /// Who is free again.
    let worker: Int
    let index: Int
    let result: Result<CustomerAnswer?, LedgerError>
  }

  private static let threads = 16
  /// After so many failures one after the other Apple is taken for out of reach.
  private static let mostFailures = 20

  public init(_ accounts: [AppStoreAccount], version: String, _ cancellation: Cancellation) {
    (self.accounts, self.version, self.cancellation) = (accounts, version, cancellation)
  }

  /// Asks for all ids but those that are done, and hands over what Apple answers.
  ///
  /// - Parameters:
  ///   - accounts: those of the owner that have the purchase of an id.
  ///   - submit: journals any number of lines of NDJSON; returns what became of each.
  ///   - claim: journals that an account has a purchase; returns whether that is new.
  ///   - observer: called with the ids that are done.
  /// - Returns: the report, also if it ended early.
  /// - Throws: what `submit` throws. What was handed over before is journaled.
  public func run<SinkError: Error>(
    _ ids: [String], of accounts: [String: [String]] = [:], _ progress: ImportProgress,
    submit: ([[UInt8]]) throws(SinkError) -> [Outcome],
    claim: (StreamKey, _ account: String) throws(SinkError) -> Bool, observer: (Int) -> Void
  ) throws(SinkError) -> ImportReport {
    var report = ImportReport()
    (report.ids, report.doneBefore) = (ids.count, progress.done.count)
    let workers = startWorkers()
    defer {
      for worker in workers { worker.tasks.close() }
      for worker in workers { worker.ended.wait() }
    }
    guard !workers.isEmpty else {
      report.failure = "no thread can be started"
      return report
    }
    var free = Array(workers.indices)
    var waiting = ids.indices.filter { !progress.done.contains($0) }.makeIterator()
    var failures = 0
    while report.failure == nil, !cancellation.isRequested {
      while let worker = free.last, let index = waiting.next() {
        free.removeLast()
        _ = workers[worker].tasks.enqueue(Task(index: index, id: ids[index]))
      }
      guard free.count < workers.count else { break }
      let batch = answers.dequeueAll(within: 1_000) ?? []
      free += batch.map(\.worker)
      try take(batch, ids, progress, &report, &failures) {
        (answer, id, report) throws(SinkError) in
        if report.count(try submit(answer.lines(.import))) { report.complete += 1 }
        for account in accounts[id] ?? [] {
          for purchase in answer.purchases(of: id).sorted() where try claim(purchase, account) {
            report.claims += 1
          }
        }
      }
      observer(progress.done.count)
    }
    report.isCancelled = cancellation.isRequested
    if report.failure == nil, !report.isCancelled, report.failed.isEmpty { progress.finish() }
    return report
  }

  private func take<SinkError: Error>(
    _ batch: [Answer], _ ids: [String], _ progress: ImportProgress, _ report: inout ImportReport,
    _ failures: inout Int,
    _ journal: (CustomerAnswer, String, inout ImportReport) throws(SinkError) -> Void
  ) throws(SinkError) {
    var done: [Int] = []
    for answer in batch {
      switch answer.result {
      case .success(nil):
        report.unknown.append(ids[answer.index])
        done.append(answer.index)
      case .success(let customer?):
        report.found[customer.environment.rawValue, default: 0] += 1
        try journal(customer, ids[answer.index], &report)
        done.append(answer.index)
        failures = 0
      case .failure(let error) where error.code == .stopped: continue
      case .failure(let error) where error.code == .unavailable: report.failure = error.message
      case .failure(let error):
        report.failed.append(ids[answer.index])
        failures += 1
        if error.code == .unauthorized { failures = Self.mostFailures }
        if failures >= Self.mostFailures { report.failure = error.description }
      }
    }
    guard !done.isEmpty else { return }
    do throws(LedgerError) {
      try progress.add(done)
    } catch {
      report.failure = error.detail
    }
  }

  // MARK: Threads

  private func startWorkers() -> [Worker] {
    var workers: [Worker] = []
    for number in 0..<Self.threads {
      let worker = Worker()
      let (tasks, ended) = (worker.tasks, worker.ended)
      let (accounts, version, cancellation) = (accounts, version, cancellation)
      let answers = answers
      let started = try? Thread.start("import") {
        defer { ended.signal() }
        func answer(_ index: Int, _ result: Result<CustomerAnswer?, LedgerError>) {
          _ = answers.enqueueBeyondCapacity(Answer(worker: number, index: index, result: result))
        }
        do throws(ClientError) {
          let question = try CustomerQuestion(accounts, version: version, .background, cancellation)
          while let task = tasks.dequeue() {
            let result = Result { () throws(AppStoreError) in try question.ask(task.id) }
            answer(task.index, result.mapError { LedgerError($0) })
          }
        } catch {
          if let task = tasks.dequeue() { answer(task.index, .failure(.unavailable("\(error)"))) }
        }
      }
      // Otherwise the numbers of the others would not be their places.
      guard started != nil else { break }
      workers.append(worker)
    }
    return workers
  }
}
