package import JournalStore
import Platform

/// The writer thread: the only one that writes the journal and the live projection (promise 10).
///
/// It takes all jobs that wait, commits the notifications among them as one SQL transaction, folds
/// them into the projection, and only then answers: after a 200 the event is on the disk, and a
/// read sees it (promise 1).
package final class LedgerWriter {
  private let ledger: Ledger
  /// Held as long as the writer lives.
  private let lock: FolderLock
  private let journal: Journal
  private let reader: JournalReader
  private let projection: ProjectionWriter
  private var housekeeping: Housekeeping
  private let onFailure: @Sendable (StoreError) -> Void

  /// Runs on the thread from start to end: locks, opens, serves, closes.
  ///
  /// - Parameter opened: told once the folder is open, or why it cannot be opened.
  static func run(
    _ ledger: Ledger, now: Int64,
    opened: BoundedQueue<Result<Void, StoreError>>,
    onFailure: @escaping @Sendable (StoreError) -> Void
  ) {
    do throws(StoreError) {
      let writer = try open(ledger, now: now, onFailure: onFailure)
      _ = opened.enqueue(.success(()))
      while let jobs = ledger.jobs.dequeueAll(within: writer.millisecondsUntilDue) {
        writer.serve(jobs)
      }
      writer.close()
    } catch {
      _ = opened.enqueue(.failure(error))
    }
  }

  /// Locks the folder and opens what is in it.
  ///
  /// - Parameters:
  ///   - now: milliseconds since 1970, for the record of migrations.
  ///   - clock: nanoseconds of a clock that never steps, for housekeeping.
  ///   - onFailure: called once, when the journal can no longer be written.
  /// - Throws: `StoreError.locked` if another daemon holds the folder; else what `Journal.open`
  ///   and `JournalReader.open` throw.
  package static func open(
    _ ledger: Ledger, now: Int64, clock: @escaping () -> Int64 = Clock.monotonicNanoseconds,
    onFailure: @escaping @Sendable (StoreError) -> Void
  ) throws(StoreError) -> LedgerWriter {
    try ledger.folder.create()
    let lock = try ledger.folder.lock()
    let journal = try Journal.open(
      ledger.folder, lock: lock, now: now, sharing: ledger.dictionary,
      decodingWith: { try? JournaledNotification.foldEvent($0) })
    let reader = try JournalReader.open(ledger.folder)
    let housekeeping = try Housekeeping(journal, clock: clock)
    let projection = ProjectionWriter(ledger, journal, reader)
    try projection.choose()
    return LedgerWriter(ledger, lock, journal, reader, projection, housekeeping, onFailure)
  }

  private init(
    _ ledger: Ledger, _ lock: consuming FolderLock, _ journal: Journal, _ reader: JournalReader,
    _ projection: ProjectionWriter, _ housekeeping: Housekeeping,
    _ onFailure: @escaping @Sendable (StoreError) -> Void
  ) {
    self.ledger = ledger
    self.lock = lock
    self.journal = journal
    self.reader = reader
    self.projection = projection
    self.housekeeping = housekeeping
    self.onFailure = onFailure
    ledger.setHead(journal.head)
    ledger.setFoldedHead(journal.head)
    ledger.liveProjection.recordEvidence(isHeld: journal.heldCount > 0)
    ledger.liveProjection.recordStatements(journal.statementCount > 0)
  }

  /// Milliseconds after which `serve` should be called even if no job came; negative: never.
  var millisecondsUntilDue: Int32 {
    if ledger.failure != nil { return -1 }
    let (due, evaluation) = (housekeeping.millisecondsUntilDue, projection.millisecondsUntilDue)
    if due < 0 { return evaluation }
    return evaluation < 0 ? due : min(due, evaluation)
  }

  /// Serves what waits: commits notifications, folds them and answers, in the order of the jobs;
  /// then does housekeeping.
  package func serve(_ jobs: [LedgerJob]) {
    var batch: [Ledger.Submitted] = []
    for job in jobs {
      if case .submit(let submitted) = job {
        batch.append(submitted)
        if batch.count == Journal.batchLimit { append(&batch) }
        continue
      }
      append(&batch)
      perform(job)
    }
    append(&batch)
    guard ledger.failure == nil else { return }
    _ = attempt { () throws(StoreError) in try housekeeping.perform(journal, reader) }
    projection.evaluateDue()
  }

  /// Closes the projection, then the journal. A reader that is still open keeps a write-ahead log
  /// alive; the next start finds everything in it.
  package func close() {
    projection.close()
    reader.close()
    if ledger.failure == nil { _ = attempt { () throws(StoreError) in try journal.close() } }
  }

  private func perform(_ job: LedgerJob) {
    switch job {
    // Every turn of the writer ends with `evaluateDue`, which adopts durations.
    case .submit, .adoptDurations: break
    case .drop(let ids, let completion):
      completion(attempt { () throws(StoreError) in try journal.removeQuarantined(ids) })
    case .erase(let account, let completion): completion(erase(account))
    case .makeLive(let count, let completion): completion(projection.makeLive(retaining: count))
    case .rollBack(let completion): completion(projection.rollBack())
    case .prune(let count, let completion): completion(projection.prune(retaining: count))
    case .refold(let id, let completion): completion(projection.refold(only: id))
    case .takeOverProjection:
      projection.takeOver()
      ledger.liveProjection.recordOrder()
    case .setProjectionAside:
      projection.setAside()
      ledger.liveProjection.recordOrder()
    }
  }

  private func erase(_ account: String) -> Ledger.Erased {
    // Readers of this thread keep their place in the write-ahead log.
    reader.endSnapshot()
    do throws(StoreError) {
      return .done(wasKnown: try journal.erase(account: account))
    } catch {
      if error == .busy { return .inUse }
      fail(error)
      return .failed
    }
  }

  private func append(_ batch: inout [Ledger.Submitted]) {
    guard !batch.isEmpty else { return }
    defer { batch.removeAll(keepingCapacity: true) }
    let outcomes: [AppendOutcome]
    ledger.meter.begin(batch.count)
    defer { ledger.meter.end() }
    do throws(StoreError) {
      if let failure = ledger.failure { throw failure }
      outcomes = try journal.append(batch.map(\.received.submission))
    } catch {
      let code = error == .full ? "disk_full" : "journal"
      if error == .full { ledger.meter.recordDiskFull() }
      for item in batch { item.completion(.unavailable(code)) }
      return fail(error)
    }
    // Only a new event shows that the disk has space: a duplicate needs none.
    if journal.head.seq > ledger.seq { ledger.meter.recordDiskSpace() }
    ledger.setHead(journal.head)
    ledger.liveProjection.recordEvidence(isHeld: journal.heldCount > 0)
    ledger.liveProjection.recordStatements(journal.statementCount > 0)
    let dispositions = outcomes.map { Disposition($0) }
    projection.fold(batch.map(\.received), dispositions, journal.released)
    ledger.setFoldedHead(journal.head)
    for (item, disposition) in zip(batch, dispositions) { item.completion(disposition) }
    _ = attempt { () throws(StoreError) in try journal.checkpointIfNeeded() }
  }

  private func attempt<Value>(_ step: () throws(StoreError) -> Value) -> Value? {
    do throws(StoreError) {
      return try step()
    } catch {
      fail(error)
      return nil
    }
  }

  /// Ends the ledger if an error is fatal: the next start repairs the files. A full disk is not
  /// fatal, because it passes.
  private func fail(_ error: StoreError) {
    guard error.isFatal, ledger.failure == nil else { return }
    ledger.setFailure(error)
    onFailure(error)
  }
}
