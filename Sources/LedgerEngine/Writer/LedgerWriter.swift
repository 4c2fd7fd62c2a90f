import Entitlements
package import JournalStore
import Observability
import Platform
import StrictJSON

/// The writer thread: the only one that writes the journal and the live rows (promise 10).
///
/// Takes whatever waits, commits it as one SQL transaction, folds it into the rows, and only then
/// answers: after a 200 a read sees the event, and it is on the disk (promise 1).
package final class LedgerWriter {
  private let ledger: Ledger
  /// Held as long as the writer lives.
  private let lock: FolderLock
  private let journal: Journal
  private let reader: JournalReader
  private let onFailure: @Sendable (StoreError) -> Void
  /// Nil while rows are built beside us, or could not be written.
  private var rows: ProjectionFolder?
  /// Whether rows were ever taken over: from then on it is the writer who gets them back.
  package private(set) var ownsProjection = false
  /// While another thread folds into the live rows at the start: one writer a file.
  private var isCatchingUp = false
  private var chores: Housekeeping

  /// The thread's whole life: lock, open, serve, close.
  static func run(
    _ ledger: Ledger, now: Int64,
    opened: BoundedQueue<Result<ProjectionExaminer.Found, StoreError>>,
    onFailure: @escaping @Sendable (StoreError) -> Void
  ) {
    do throws(StoreError) {
      let (writer, found) = try open(ledger, now: now, onFailure: onFailure)
      _ = opened.put(.success(found))
      while let jobs = ledger.jobs.takeAll(within: writer.patience) { writer.serve(jobs) }
      writer.close()
    } catch {
      _ = opened.put(.failure(error))
    }
  }

  /// Locks the folder and opens what is in it.
  ///
  /// - Parameter clock: nanoseconds of a clock that never steps, for what may wait.
  package static func open(
    _ ledger: Ledger, now: Int64, clock: @escaping () -> Int64 = Clock.monotonicNanoseconds,
    onFailure: @escaping @Sendable (StoreError) -> Void
  ) throws(StoreError) -> (writer: LedgerWriter, found: ProjectionExaminer.Found) {
    try ledger.folder.create()
    let lock = try ledger.folder.lock()
    let journal = try Journal.open(
      ledger.folder, lock: lock, now: now, sharing: ledger.dictionary)
    let reader = try JournalReader.open(ledger.folder)
    let chores = try Housekeeping(journal, clock: clock)
    let found = try ProjectionExaminer.look(ledger.folder, reader)
    let writer = LedgerWriter(ledger, lock, journal, reader, chores, onFailure)
    if case .own = found { writer.isCatchingUp = true }
    return (writer, found)
  }

  private init(
    _ ledger: Ledger, _ lock: consuming FolderLock, _ journal: Journal, _ reader: JournalReader,
    _ chores: Housekeeping, _ onFailure: @escaping @Sendable (StoreError) -> Void
  ) {
    self.ledger = ledger
    self.lock = lock
    self.journal = journal
    self.reader = reader
    self.chores = chores
    self.onFailure = onFailure
    ledger.note(seq: journal.head.seq)
  }

  /// Milliseconds after which `serve` wants to be called though no job came; negative: never.
  var patience: Int32 {
    if ledger.failure != nil { return -1 }
    guard lacksProjection, !(0..<Self.projectionRetryDelay).contains(chores.patience) else {
      return chores.patience
    }
    return Self.projectionRetryDelay
  }

  /// Milliseconds after which rows that could not be written are tried again, though nothing came.
  private static let projectionRetryDelay: Int32 = 1_000

  /// Rows were followed and could not be: a full disk, mostly, and that passes.
  private var lacksProjection: Bool { rows == nil && ownsProjection }

  /// One step: commits what came, folds it, answers, and does what nobody waits for.
  package func serve(_ jobs: [LedgerJob]) {
    var batch: [(Receiver.Received, @Sendable (Ledger.Outcome) -> Void)] = []
    for job in jobs {
      if case .submit(let received, let then) = job {
        batch.append((received, then))
        if batch.count == Journal.batchLimit { append(&batch) }
        continue
      }
      append(&batch)
      perform(job)
    }
    append(&batch)
    guard ledger.failure == nil else { return }
    _ = attempt { () throws(StoreError) in try chores.perform(journal, reader) }
    // Whoever reads shall not have to wait for the next notification.
    if jobs.isEmpty, lacksProjection { recoverProjection() }
  }

  /// Rows first, then the journal, whatever became of the rows. A reader that still looks keeps a
  /// write-ahead log alive; the next start finds everything in it.
  package func close() {
    _ = attempt { () throws(StoreError) in try rows?.projection.close() }
    reader.close()
    if ledger.failure == nil { _ = attempt { () throws(StoreError) in try journal.close() } }
  }

  private func perform(_ job: LedgerJob) {
    switch job {
    case .submit: break
    case .drop(let id, let then):
      then(
        attempt { () throws(StoreError) in
          try journal.removeQuarantined(id)
        } ?? false)
    case .adopt(let kept, let unlessHeld, let then):
      then(
        order { () throws(StoreError) in
          // Held rows that somebody deleted hold nothing (promise 7).
          if unlessHeld, ledger.rows.current != nil,
            try ProjectionList.read(ledger.folder).isHeld
          {
            return .done
          }
          return try adopt(keeping: kept)
        })
    case .rollBack(let then): then(order { () throws(StoreError) in try rollBack() })
    case .refold(let id, let then):
      let counts = attempt { () throws(StoreError) in try rows?.refold(only: id, reader) }
      ledger.rows.noteCommit()
      then(counts ?? nil)
    case .prune(let kept, let then):
      then(
        order { () throws(StoreError) in
          try ProjectionFile.prune(ledger.folder, keeping: kept)
          return .done
        })
    case .followProjection(let then):
      followProjection()
      then()
    }
  }

  // MARK: The journal

  private func append(_ batch: inout [(Receiver.Received, @Sendable (Ledger.Outcome) -> Void)]) {
    guard !batch.isEmpty else { return }
    defer { batch.removeAll(keepingCapacity: true) }
    let outcomes: [AppendOutcome]
    ledger.meter.begin(batch.count)
    defer { ledger.meter.end() }
    do throws(StoreError) {
      if let failure = ledger.failure { throw failure }
      outcomes = try journal.append(batch.map(\.0.submission))
    } catch {
      let code = error == .full ? "disk_full" : "journal"
      if error == .full { ledger.meter.noteFull() }
      for (_, then) in batch { then(.unavailable(code)) }
      return fail(error)
    }
    // Duplicates need no room, and say nothing about it.
    if journal.head.seq > ledger.seq { ledger.meter.noteRoom() }
    ledger.note(seq: journal.head.seq)
    foldProjection(batch.map(\.0), outcomes)
    for (item, outcome) in zip(batch, outcomes) { item.1(Self.outcome(outcome)) }
    _ = attempt { () throws(StoreError) in try journal.checkpointIfNeeded() }
  }

  private static func outcome(_ outcome: AppendOutcome) -> Ledger.Outcome {
    switch outcome {
    case .journaled(let seq, _): .accepted(seq: seq)
    case .duplicate(let seq): .duplicate(seq: seq)
    case .conflict(let seq): .conflict(seq: seq)
    case .receiveTimeBehind: .receiveTimeBehind
    case .skipped: .skipped
    case .quarantined, .alreadyQuarantined, .quarantineFull: .quarantined
    }
  }

  private func attempt<Value>(_ step: () throws(StoreError) -> Value) -> Value? {
    do throws(StoreError) {
      return try step()
    } catch {
      fail(error)
      return nil
    }
  }

  /// A full disk passes; anything else ends the daemon, and the next start mends the files.
  private func fail(_ error: StoreError) {
    guard error.isFatal, ledger.failure == nil else { return }
    ledger.note(failure: error)
    onFailure(error)
  }

  // MARK: The rows

  /// The journal has the events whatever happens here: rows that cannot be written are closed to
  /// readers and caught up when they can be again.
  private func foldProjection(_ received: [Receiver.Received], _ outcomes: [AppendOutcome]) {
    guard let rows else {
      if ownsProjection { recoverProjection() }
      return
    }
    var steps: [ProjectionFolder.Step] = []
    var isChanged = false
    for (item, outcome) in zip(received, outcomes) {
      guard case .journaled(let seq, _) = outcome else { continue }
      isChanged = true
      guard let stream = item.stream, var event = item.foldEvent else { continue }
      event.seq = seq
      steps.append(ProjectionFolder.Step(stream: stream, seq: seq, event: event))
    }
    guard isChanged else { return }
    do throws(StoreError) {
      let late = try rows.fold(
        steps, through: journal.head.seq, hash: journal.head.hash, journal: reader)
      ledger.rows.noteCommit()
      if late > 0 { ledger.meter.late.add(late) }
      try rows.projection.checkpointIfNeeded()
    } catch {
      self.rows = nil
      ledger.rows.close()
      recoverProjection()
    }
  }

  /// Rows are live that were caught up on a thread of their own, or that another fold made.
  private func followProjection() {
    isCatchingUp = false
    ownsProjection = true
    if rows == nil { recoverProjection() }
  }

  /// What the list calls live is live again.
  private func recoverProjection() {
    do throws(StoreError) {
      try ledger.rows.switchOver { () throws(StoreError) in
        guard let name = try ProjectionList.read(ledger.folder).live else {
          throw .foreign("no rows are live")
        }
        return try open(ledger.folder.projection(named: name))
      }
    } catch {
      rows = nil
    }
  }

  /// From here on every event is folded into these rows before it is answered. Another fold's are
  /// only read: readers see how far they go, and fold what came later themselves.
  private func open(_ path: String) throws(StoreError) -> (path: String, isFollowed: Bool) {
    switch try ProjectionExaminer.condition(path, reader) {
    case .usable:
      let fold = ProjectionFolder(try Projection.open(path))
      try fold.catchUp(reader)
      rows = fold
      ownsProjection = true
      return (path, true)
    case .otherFold:
      ownsProjection = false
      return (path, false)
    default: throw .foreign("the rows of \(path) cannot be gone on with")
    }
  }

  private func closeProjection() throws(StoreError) {
    let closing = rows
    rows = nil
    do throws(StoreError) {
      try closing?.projection.close(isPatient: false)
    } catch .busy {
      // Somebody still reads the -wal; it stays beside the file, which is only read from now on.
    }
  }

  /// What was built is caught up while the live rows still answer; the switch itself is a rename.
  private func adopt(keeping kept: Int) throws(StoreError) -> Ledger.ProjectionOutcome {
    let lock = try ledger.folder.lockRebuild()
    defer { withExtendedLifetime(lock) {} }
    let building = Rebuild.buildingPath(ledger.folder)
    guard case .usable = try ProjectionExaminer.condition(building, reader) else { return .nothing }
    try catchUp(building)
    try ledger.rows.switchOver { () throws(StoreError) in
      try closeProjection()
      return try open(
        try ProjectionFile.goLive(
          building, in: ledger.folder, foldVersion: FoldIdentity.version, keeping: kept))
    }
    if journal.head.seq > 0 {
      Log.write(.info, "rows_live", [("seq", .integer(journal.head.seq))])
    }
    return .done
  }

  private func rollBack() throws(StoreError) -> Ledger.ProjectionOutcome {
    guard let name = try ProjectionList.read(ledger.folder).kept.first else { return .nothing }
    try catchUp(ledger.folder.projection(named: name))
    var outcome = Ledger.ProjectionOutcome.done
    try ledger.rows.switchOver { () throws(StoreError) in
      try closeProjection()
      if let before = try Rebuild.rollBack(ledger.folder, reader) { return try open(before) }
      outcome = .nothing
      let live = try ProjectionList.read(ledger.folder).live ?? ""
      return try open(ledger.folder.projection(named: live))
    }
    Log.write(.info, "rows_rolled_back", [("outcome", .string("\(outcome)"))])
    return outcome
  }

  /// While the live rows still answer, where these can be gone on with.
  private func catchUp(_ path: String) throws(StoreError) {
    guard case .usable = try ProjectionExaminer.condition(path, reader) else { return }
    let fold = ProjectionFolder(try Projection.open(path))
    try fold.catchUp(reader)
    try fold.projection.close()
  }

  /// What goes wrong with rows is told, and the journal goes on.
  private func order(
    _ step: () throws(StoreError) -> Ledger.ProjectionOutcome
  ) -> Ledger.ProjectionOutcome {
    do throws(StoreError) {
      if isCatchingUp { throw .busy }
      return try step()
    } catch {
      Log.write(.error, "rows_order_failed", [("error", .string(error.description))])
      if rows == nil && !isCatchingUp { recoverProjection() }
      return .failed
    }
  }
}
