import Entitlements
import JournalStore
import Platform

/// The writer thread: the only one that writes the journal and the live rows (promise 10).
///
/// Takes whatever waits, commits it as one SQL transaction, folds it into the rows, and only then
/// answers: after a 200 a read sees the event, and it is on the disk (promise 1).
final class LedgerWriter {
  private let ledger: Ledger
  private let journal: Journal
  private let reader: JournalReader
  private let onFailure: @Sendable (StoreError) -> Void
  /// Nil while rows are built beside us, or could not be written.
  private var rows: RowsFold?
  /// Whether rows were ever taken over: from then on it is the writer who gets them back.
  private var ownsRows = false

  /// The thread's whole life: lock, open, serve, close.
  static func run(
    _ ledger: Ledger, now: Int64, opened: Mailbox<Result<Void, StoreError>>,
    onFailure: @escaping @Sendable (StoreError) -> Void
  ) {
    do throws(StoreError) {
      try ledger.folder.create()
      let lock = try ledger.folder.lock()
      let journal = try Journal.open(ledger.folder, lock: lock, now: now)
      let writer = LedgerWriter(
        ledger, journal, try JournalReader.open(ledger.folder), onFailure)
      _ = opened.put(.success(()))
      writer.serve()
      withExtendedLifetime(lock) {}
    } catch {
      _ = opened.put(.failure(error))
    }
  }

  private init(
    _ ledger: Ledger, _ journal: Journal, _ reader: JournalReader,
    _ onFailure: @escaping @Sendable (StoreError) -> Void
  ) {
    self.ledger = ledger
    self.journal = journal
    self.reader = reader
    self.onFailure = onFailure
    ledger.note(seq: journal.head.seq)
  }

  private func serve() {
    while let jobs = ledger.jobs.takeAll() {
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
    }
    close()
  }

  /// Rows first, then the journal, whatever became of the rows. A reader that still looks keeps a
  /// write-ahead log alive; the next start finds everything in it.
  private func close() {
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
    case .adopt(let building, let then): then(adopt(building))
    case .takeRows(let then):
      takeRows()
      then()
    }
  }

  // MARK: The journal

  private func append(_ batch: inout [(Receiver.Received, @Sendable (Ledger.Outcome) -> Void)]) {
    guard !batch.isEmpty else { return }
    defer { batch.removeAll(keepingCapacity: true) }
    let outcomes: [AppendOutcome]
    do throws(StoreError) {
      if let failure = ledger.failure { throw failure }
      outcomes = try journal.append(batch.map(\.0.submission))
    } catch {
      let code = error == .full ? "disk_full" : "journal"
      for (_, then) in batch { then(.unavailable(code)) }
      return fail(error)
    }
    ledger.note(seq: journal.head.seq)
    foldRows(batch.map(\.0), outcomes)
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
  private func foldRows(_ received: [Receiver.Received], _ outcomes: [AppendOutcome]) {
    guard let rows else {
      if ownsRows { recoverRows() }
      return
    }
    var steps: [RowsFold.Step] = []
    var isChanged = false
    for (item, outcome) in zip(received, outcomes) {
      guard case .journaled(let seq, _) = outcome else { continue }
      isChanged = true
      guard let stream = item.stream, var event = item.foldEvent else { continue }
      event.seq = seq
      steps.append(RowsFold.Step(stream: stream, seq: seq, event: event))
    }
    guard isChanged else { return }
    do throws(StoreError) {
      try rows.fold(
        steps, through: journal.head.seq, hash: journal.head.hash, journal: reader)
      try rows.projection.checkpointIfNeeded()
    } catch {
      self.rows = nil
      ledger.rows.close()
      recoverRows()
    }
  }

  /// The rows were caught up on a thread of their own: open them here and fold what came meanwhile.
  private func takeRows() {
    ownsRows = true
    if rows == nil { recoverRows() }
  }

  private func recoverRows() {
    let path = ledger.folder.projection(RowsBuilder.foldVersion)
    do throws(StoreError) {
      try ledger.rows.swap { () throws(StoreError) in
        let fold = RowsFold(try Projection.open(path))
        try fold.catchUp(reader)
        rows = fold
      }
    } catch {
      rows = nil
    }
  }

  private func adopt(_ building: String) -> StoreError? {
    do throws(StoreError) {
      let path = ledger.folder.projection(RowsBuilder.foldVersion)
      let built = RowsFold(try Projection.open(building))
      try built.catchUp(reader)
      try built.projection.close()
      try ledger.rows.swap { () throws(StoreError) in
        try rows?.projection.close()
        rows = nil
        try ProjectionFile.goLive(building, as: path)
        rows = RowsFold(try Projection.open(path))
      }
      return nil
    } catch {
      if rows == nil { recoverRows() }
      return error
    }
  }
}
