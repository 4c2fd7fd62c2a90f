package import Platform
import Store
import StrictJSON

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
  private var judging: HeldJudgingTurns
  /// Set if the folder is a copy of a shared journal.
  private let copy: CopyWriter?
  private let onFailure: @Sendable (LedgerError) -> Void
  /// When to try again to remove the bytes of accounts, nanoseconds of the monotonic clock.
  private var nextErasure = Int64.min
  /// Parts of receipts that were taken from their queue.
  private var parts: ArraySlice<(submitted: Ledger.Submitted, at: Int64)> = []

  /// Runs on the thread from start to end: locks, opens, serves, closes.
  ///
  /// - Parameter opened: told once the folder is open, or why it cannot be opened.
  static func run(
    _ ledger: Ledger, now: Int64,
    opened: BoundedQueue<Result<Void, LedgerError>>,
    onFailure: @escaping @Sendable (LedgerError) -> Void
  ) {
    do throws(LedgerError) {
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
  ///   - pause: waits for milliseconds before another attempt at the shared journal.
  ///   - onFailure: called once, when the journal can no longer be written.
  /// - Throws: `LedgerError.locked` if another daemon holds the folder; else what `Journal.open`
  ///   and `JournalReader.open` throw. an error of the shared journal if a new copy cannot be made
  ///   now, or the shared journal's schema is newer.
  package static func open(
    _ ledger: Ledger, now: Int64, clock: @escaping () -> Int64 = Clock.monotonicNanoseconds,
    pause: @escaping (Int32) -> Void = { WakeupEvent().wait(milliseconds: $0) },
    onFailure: @escaping @Sendable (LedgerError) -> Void
  ) throws(LedgerError) -> LedgerWriter {
    try ledger.folder.create()
    let lock = try ledger.folder.lock()
    let (journal, copy) = try openJournal(ledger, lock, now: now, pause)
    let reader = try JournalReader.open(ledger.folder)
    let housekeeping = try Housekeeping(journal, clock: clock)
    let judging = HeldJudgingTurns(ledger, journal, clock: clock)
    ledger.setDurations(try reader.durations(configured: ledger.configuredDurations))
    ledger.liveProjection.recordMapping(journal.lastMapping)
    let projection = ProjectionWriter(ledger, journal, reader)
    try projection.choose()
    return LedgerWriter(
      ledger, lock, journal, reader, projection, housekeeping, judging, copy, onFailure)
  }

  private static func openJournal(
    _ ledger: Ledger, _ lock: borrowing FolderLock, now: Int64, _ pause: @escaping (Int32) -> Void
  ) throws(LedgerError) -> (Journal, CopyWriter?) {
    if let access = ledger.shared, let status = ledger.copy {
      return try CopyOpening(ledger, access, status, now: now, pause: pause).open(lock)
    }
    let journal = try Journal.open(
      ledger.folder, lock: lock, now: now, sharing: ledger.dictionary,
      decodingWith: { try? JournaledNotification.foldEvent($0) })
    return (journal, nil)
  }

  private init(
    _ ledger: Ledger, _ lock: consuming FolderLock, _ journal: Journal, _ reader: JournalReader,
    _ projection: ProjectionWriter, _ housekeeping: Housekeeping, _ judging: HeldJudgingTurns,
    _ copy: CopyWriter?, _ onFailure: @escaping @Sendable (LedgerError) -> Void
  ) {
    self.ledger = ledger
    self.lock = lock
    self.journal = journal
    self.reader = reader
    self.projection = projection
    self.housekeeping = housekeeping
    self.judging = judging
    self.copy = copy
    self.onFailure = onFailure
    ledger.setFoldedHead(journal.head)
    recordJournal()
  }

  /// Tells other threads what is in the journal now.
  private func recordJournal() {
    ledger.setHead(journal.head)
    ledger.liveProjection.recordEvidence(isHeld: journal.heldCount > 0)
    ledger.judging.setWaiting(journal.waitingCount)
    ledger.liveProjection.recordStatements(journal.statementCount > 0)
    guard journal.lastMapping != ledger.liveProjection.lastMapping else { return }
    let durations = attempt { () throws(LedgerError) in
      try reader.durations(configured: ledger.configuredDurations)
    }
    guard let durations else { return }
    ledger.setDurations(durations)
    ledger.liveProjection.recordMapping(journal.lastMapping)
  }

  /// Milliseconds after which `serve` should be called even if no job came; negative: never.
  var millisecondsUntilDue: Int32 {
    if hasParts { return 0 }
    if ledger.failure != nil { return -1 }
    return [
      housekeeping.millisecondsUntilDue, projection.millisecondsUntilDue,
      judging.millisecondsUntilDue, copy?.millisecondsUntilPoll ?? -1,
    ].filter { $0 >= 0 }.min() ?? -1
  }

  /// Serves what waits: commits notifications, folds them and answers, in the order of the jobs;
  /// then does housekeeping.
  package func serve(_ jobs: [LedgerJob]) {
    var batch: [Ledger.Submitted] = []
    // When the first of the batch arrived.
    var arrivedAt: Int64 = 0
    for job in jobs {
      if case .submit(let submitted, let at) = job {
        if batch.isEmpty { arrivedAt = at }
        batch.append(submitted)
        if batch.count == Journal.batchLimit {
          append(&batch, arrivedAt, ledger.meter.notifications)
        }
        continue
      }
      append(&batch, arrivedAt, ledger.meter.notifications)
      perform(job)
    }
    append(&batch, arrivedAt, ledger.meter.notifications)
    appendParts()
    guard ledger.failure == nil else { return }
    follow()
    if journal.hasErased, Clock.monotonicNanoseconds() >= nextErasure { emptyOwedWAL() }
    _ = attempt { () throws(LedgerError) in try housekeeping.perform(journal, reader, copy) }
    _ = attempt { () throws(LedgerError) in try judging.perform(journalNews: journalNews) }
    projection.evaluateDue()
  }

  /// Closes the projection, then the journal. A reader that is still open keeps a write-ahead log
  /// alive; the next start finds everything in it.
  package func close() {
    while hasParts { appendParts() }
    projection.close()
    reader.close()
    if let copy {
      try? housekeeping.writeCounts(journal, copy)
      copy.close()
    }
    guard ledger.failure == nil else { return }
    _ = attempt { () throws(LedgerError) in try journal.close() }
  }

  private func perform(_ job: LedgerJob) {
    switch job {
    // Every turn of the writer appends parts, and ends with `evaluateDue`, which adopts durations.
    case .submit, .appendParts: break
    case .drop(let ids, let completion):
      completion(
        attempt { () throws(LedgerError) in
          try write { (ship) throws(LedgerError) in
            try journal.removeQuarantined(ids, shipping: ship)
          }
        })
    case .erase(let account, let completion): completion(erase(account))
    case .checkFiles:
      guard ledger.failure == nil else { break }
      _ = attempt { () throws(LedgerError) in try journal.checkFiles() }
    case .refresh:
      // All that ask from here on get a look of their own.
      let waiting = ledger.takeRefreshes()
      let isWhole = follow(isDue: true)
      for completion in waiting { completion(isWhole) }
    case .projection(let order, let completion): completion(projection.perform(order))
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
    do throws(LedgerError) {
      let wasKnown = try write { (ship) throws(LedgerError) in
        try journal.erase(account: account, shipping: ship)
      }
      ledger.recordErasure()
      return .done(wasKnown: wasKnown)
    } catch {
      if error.code == .busy {
        // It is forgotten; its bytes are still in the files.
        ledger.recordErasure()
        return .inUse
      }
      fail(error)
      return .failed
    }
  }

  // MARK: Writing

  /// Runs a write of the journal; of a copy, together with its shared journal.
  private func write<Result>(
    _ body: (Journal.Shipper<Result>?) throws(LedgerError) -> Result
  ) throws(LedgerError) -> Result {
    guard let copy else { return try body(nil) }
    defer { foldFollowed(through: journal.head.seq) }
    return try copy.write(by: copy.orderDeadline, body).result
  }

  private var hasParts: Bool { !parts.isEmpty || ledger.parts.count > 0 }

  /// Parts of receipts in one SQL transaction, for which notifications wait: 7 milliseconds of
  /// processor time, and a sync.
  package static let partLimit = 100

  /// Appends some parts of receipts; the next ones after what was queued meanwhile.
  private func appendParts() {
    if parts.isEmpty, hasParts { parts = (ledger.parts.dequeueAll(within: 0) ?? [])[...] }
    guard let arrivedAt = parts.first?.at else { return }
    var batch = parts.prefix(Self.partLimit).map(\.submitted)
    parts.removeFirst(batch.count)
    append(&batch, arrivedAt, ledger.meter.parts)
  }

  private func append(
    _ batch: inout [Ledger.Submitted], _ arrivedAt: Int64, _ count: AnsweredCount
  ) {
    guard !batch.isEmpty else { return }
    defer {
      count.answer(batch.count)
      batch.removeAll(keepingCapacity: true)
    }
    let outcomes: [Outcome]
    ledger.meter.begin(batch.count)
    defer { ledger.meter.end() }
    var isFolded = false
    do throws(LedgerError) {
      if let failure = ledger.failure { throw failure }
      let submissions = batch.map(\.received.submission)
      if let copy {
        let written = try append(submissions, to: copy, arrivedAt)
        foldFollowed(through: written.isFollowed ? journal.head.seq : written.followedThrough)
        (outcomes, isFolded) = (written.result, written.isFollowed)
      } else {
        outcomes = try journal.append(
          submissions, knowing: projection.states(),
          judgingWhile: judging.turnOfAppend())
      }
    } catch {
      if error.code == .full { ledger.meter.recordDiskFull(batch.count) }
      for item in batch { item.completion(.unavailable(Self.code(error))) }
      return error.code == .full ? StoreErrors.count(.journal) : fail(error)
    }
    // Only a new event shows that the disk has space: a duplicate needs none.
    if journal.head.seq > ledger.seq { ledger.meter.recordDiskSpace() }
    recordJournal()
    if !isFolded { projection.fold(batch.map(\.received), outcomes, journal.released) }
    ledger.setFoldedHead(journal.head)
    for (item, outcome) in zip(batch, outcomes) { item.completion(outcome) }
    _ = attempt { () throws(LedgerError) in try journal.checkpointIfNeeded() }
  }

  /// Journals and folds what is held and says something new.
  ///
  /// - Returns: how many pieces that was.
  private func journalNews(_ judged: Journal.Judged) throws(LedgerError) -> Int {
    var written = CopyWriter.Written(result: 0, followedThrough: 0, isFollowed: false)
    let now = Clock.now()
    if let copy {
      written = try copy.write(by: copy.countDeadline) { (ship) throws(LedgerError) in
        try self.journal.journalNews(judged, at: now, shipping: ship)
      }
      foldFollowed(through: written.isFollowed ? journal.head.seq : written.followedThrough)
    } else {
      written = CopyWriter.Written(
        result: try journal.journalNews(judged, at: now), followedThrough: 0, isFollowed: false)
    }
    recordJournal()
    if !written.isFollowed { projection.fold([], [], journal.released) }
    ledger.setFoldedHead(journal.head)
    try journal.checkpointIfNeeded()
    return written.result
  }

  /// The code of an answer of 503.
  private static func code(_ error: LedgerError) -> String {
    if error.isOfSharedJournal { return "shared_journal" }
    return error.code == .full ? "disk_full" : "journal"
  }

  private func append(
    _ batch: [Submission], to copy: CopyWriter, _ arrivedAt: Int64
  ) throws(LedgerError) -> CopyWriter.Written<[Outcome]> {
    try copy.write(
      by: copy.deadline(arrivedAt: arrivedAt),
      mustTouch: { outcomes, confirmed in
        outcomes.contains { $0.dependsOnMore(than: confirmed, of: self.journal.position) }
      },
      { (ship) throws(LedgerError) in
        try self.journal.append(
          batch, knowing: self.projection.states(), shipping: ship,
          judgingWhile: self.judging.turnOfAppend())
      })
  }

  // MARK: Following a shared journal

  /// Follows the shared journal, if it is time to, and folds what it brought.
  ///
  /// - Returns: false if it could not be followed.
  @discardableResult
  private func follow(isDue: Bool = false) -> Bool {
    guard let copy, ledger.failure == nil else { return copy == nil }
    defer { foldFollowed(through: journal.head.seq) }
    do throws(LedgerError) {
      try copy.poll(isDue: isDue)
      try journal.checkpointIfNeeded()
      return true
    } catch {
      fail(error)
      return false
    }
  }

  /// How long a try to remove the bytes of accounts has to be ago for the next one, milliseconds.
  private static let erasurePause: Int64 = 60_000

  /// Removes the bytes of accounts that are forgotten: another copy was asked to, or a reader used
  /// them then. If a reader still does, it is tried again later.
  private func emptyOwedWAL() {
    nextErasure = Deadline(milliseconds: Self.erasurePause).nanoseconds
    ledger.recordErasure()
    reader.endSnapshot()
    do throws(LedgerError) {
      try journal.emptyWAL()
    } catch {
      if error.code != .busy { fail(error) }
    }
  }

  /// Folds the events that others appended.
  private func foldFollowed(through seq: Int64) {
    guard seq > ledger.foldedHead.seq else { return }
    recordJournal()
    projection.catchUp(through: seq)
    if seq == journal.head.seq { ledger.setFoldedHead(journal.head) }
  }

  private func attempt<Value>(_ step: () throws(LedgerError) -> Value) -> Value? {
    do throws(LedgerError) {
      return try step()
    } catch {
      fail(error)
      return nil
    }
  }

  /// Ends the ledger if an error is fatal: the next start repairs the files. A full disk is not
  /// fatal, because it passes.
  private func fail(_ error: LedgerError) {
    guard error.isFatal else { return record(error) }
    guard ledger.failure == nil else { return }
    StoreErrors.count(.journal)
    ledger.setFailure(error)
    onFailure(error)
  }

  /// Notifications that the disk has no room for have lines of their own, and so has a shared
  /// journal that cannot be used.
  private func record(_ error: LedgerError) {
    if error.isOfSharedJournal { return }
    StoreErrors.record(.journal, "journal_not_written", error)
  }
}
