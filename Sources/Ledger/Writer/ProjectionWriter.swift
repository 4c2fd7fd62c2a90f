import AppStore
import Entitlements
import Platform
import Store
import StrictJSON

/// Keeps the live projection on the writer's thread while it follows the journal: folds each
/// committed batch into it, evaluates answers that the time has changed, and switches from one
/// projection to another.
///
/// The journal has the events whatever happens here. In every other state of `ProjectionState` the
/// file belongs to `ProjectionMaintenance`, and nothing is folded here.
final class ProjectionWriter {
  private let ledger: Ledger
  private let journal: Journal
  private let reader: JournalReader
  /// Set while the projection follows the journal.
  private var folder: ProjectionFolder?
  /// When the next answer changes by the time alone, milliseconds since 1970; nil: never.
  private var nextDue: Int64?
  /// Before this time nothing is evaluated, so that notifications come first.
  private var nextEvaluation = Int64.min

  private var live: LiveProjection { ledger.liveProjection }

  init(_ ledger: Ledger, _ journal: Journal, _ reader: JournalReader) {
    self.ledger = ledger
    self.journal = journal
    self.reader = reader
  }

  /// Finds what is live at the start.
  ///
  /// - Throws: what SQLite reports about the journal.
  func choose() throws(LedgerError) {
    switch try ProjectionChoice.choose(ledger.folder, reader, onDamage: live.recordDamage) {
    case .own(let path):
      do throws(LedgerError) {
        // Before any reader opens it.
        try ProjectionFile.copyWAL(path)
        let rows = try? ProjectionReader.open(ledger.folder, path: path)
        if let former = try? rows?.evaluatedDurations() { ledger.setFormerDurations(former) }
        live.apply(.ownFound, .init(path: path, isOwn: true))
      } catch {
        Log.write(.error, "rows_not_read", [("error", .string(error.description))])
      }
    case .other(let path): live.apply(.otherFound, .init(path: path, isOwn: false))
    case .none: break
    }
  }

  // MARK: Folding

  /// Folds what a batch added to the journal.
  ///
  /// - Parameter released: evidence that had been held and was journaled, if any, behind the events
  ///   of the batch.
  func fold(
    _ received: [Receiver.Received], _ outcomes: [Outcome], _ released: [ReleasedEvidence]
  ) {
    let folder = following
    var steps: [ProjectionFolder.Step] = []
    var isChanged = !released.isEmpty
    func add(_ stream: StreamKey, _ event: FoldEvent) {
      let step = ProjectionFolder.Step(stream: stream, seq: event.seq, event: event)
      addSuccessors(step)
      steps.append(step)
    }
    for (item, outcome) in zip(received, outcomes) {
      guard case .accepted(let seq) = outcome else { continue }
      isChanged = true
      guard let stream = item.stream else { continue }
      if let event = item.foldEvent(seq: seq) {
        add(stream, event)
      } else {
        steps.append(
          ProjectionFolder.Step(stream: stream, seq: seq, event: nil, isStatement: true))
      }
    }
    for evidence in released { add(evidence.stream, evidence.event) }
    if !released.isEmpty { steps.sort { $0.seq < $1.seq } }
    guard isChanged, let folder else { return }
    attempt { () throws(LedgerError) in
      let late = try folder.fold(
        steps, through: journal.head.seq, hash: journal.head.hash, journal: reader)
      // A row that was written may change its answer earlier than all others.
      nextDue = .min
      if late > 0 { ledger.meter.late.add(late) }
      try folder.projection.checkpointIfNeeded()
    }
  }

  /// What the rows say of streams.
  func states() -> RowStates {
    guard let folder = following else { return RowStates() }
    // The journal keeps it until the next batch.
    return RowStates(seq: folder.projection.foldedThrough) { [weak self] stream in
      self?.state(of: stream)
    }
  }

  private func state(of stream: StreamKey) -> StreamState? {
    var state: StreamState?
    attempt { () throws(LedgerError) in state = try following?.state(of: stream, reader) }
    return state
  }

  /// Folds events that were appended by other ledgers of the shared journal.
  func catchUp(through seq: Int64) {
    guard let folder = following else { return }
    attempt { () throws(LedgerError) in
      guard folder.projection.foldedThrough < seq else { return }
      try folder.catchUp(reader, through: seq, observing: addSuccessors)
      nextDue = .min
    }
  }

  private func addSuccessors(_ step: ProjectionFolder.Step) {
    for transaction in step.event?.transactions ?? [] {
      if let id = transaction.previousOriginalTransactionId {
        live.successors.add(step.stream, id)
      }
    }
  }

  /// The folder, while the projection follows the journal. A file that a reader found damaged is
  /// let go without another write.
  private var following: ProjectionFolder? {
    if folder != nil, live.state != .following { folder = nil }
    return folder
  }

  /// Runs a step on the projection. After an error the file is closed, and its state says why.
  private func attempt(_ step: () throws(LedgerError) -> Void) {
    do throws(LedgerError) {
      try step()
    } catch {
      failed(error)
    }
  }

  private func failed(_ error: LedgerError) {
    folder = nil
    if error.isDamage { return live.reportDamage(live.current.generation, error) }
    StoreErrors.record(.projection, "rows_not_written", error)
    live.apply(.writeFailed)
  }

  // MARK: Answers that the time changes

  /// Rows that are evaluated at a time: some milliseconds.
  private static let evaluationBatch = 500
  /// The shortest time between two evaluations, milliseconds: lists correct what is due meanwhile.
  private static let evaluationPause: Int64 = 1_000
  /// The same after a change of durations, until which a list reads all rows of the product: few
  /// rows at a time, so that a notification waits for few.
  private static let (changeBatch, changePause) = (100, Int64(5))

  /// Milliseconds until `evaluateDue` has something to do; negative: never.
  var millisecondsUntilDue: Int32 {
    guard folder != nil, let nextDue else { return -1 }
    return Int32(clamping: max(1, max(nextDue, nextEvaluation) - Clock.now()))
  }

  /// Evaluates the answers of the live projection that the time has changed.
  func evaluateDue() {
    guard let folder = following else { return }
    attempt { () throws(LedgerError) in
      if try folder.projection.adopt(ledger.durations) { nextDue = .min }
      let now = folder.projection.clock()
      guard let due = nextDue, max(due, nextEvaluation) <= now else { return }
      let isChanging = due == .min
      _ = try folder.projection.evaluateDue(
        limit: isChanging ? Self.changeBatch : Self.evaluationBatch)
      nextDue = try folder.projection.nextDue()
      nextEvaluation = now + (nextDue == .min ? Self.changePause : Self.evaluationPause)
      try folder.projection.checkpointIfNeeded()
    }
  }

  // MARK: Opening and closing

  /// Takes over the live projection once another thread has caught it up.
  func takeOver() {
    guard folder == nil, let readable = live.current.readable else { return }
    attempt { () throws(LedgerError) in
      guard let opened = try open(readable.path) else { return }
      folder = opened
      // Readers open the file again: a snapshot that was begun before lacks events.
      live.apply(.caughtUp, readable)
    }
  }

  /// Events that are folded here at most while notifications wait; a projection that lacks more is
  /// caught up by the other thread first.
  private static let maximumLag: Int64 = 2_000

  /// Opens a projection of this fold and folds what it lacks; nil if that is too much.
  private func open(_ path: String) throws(LedgerError) -> ProjectionFolder? {
    guard case .usable = try ProjectionChoice.condition(path, reader) else {
      throw .corrupt("it cannot be continued")
    }
    // Readers may have it open.
    let opened = ProjectionFolder(try Projection.open(path, copiesWAL: false))
    guard journal.head.seq - opened.projection.foldedThrough <= Self.maximumLag else { return nil }
    try opened.projection.adopt(ledger.durations)
    try opened.catchUp(reader)
    try opened.projection.forEachPredecessor { live.successors.add($0, $1) }
    nextDue = .min
    return opened
  }

  /// Puts the damaged projection aside. Its readers go on to the journal.
  func setAside() {
    folder = nil
    guard live.state == .damaged else { return }
    do throws(LedgerError) {
      if let path = live.current.damaged {
        try ProjectionFile.putAside(path, in: ledger.folder)
      }
    } catch {
      StoreErrors.record(.projection, "rows_not_put_aside", error)
      // On a full disk it is tried again; what cannot be renamed is no longer in the list.
      guard error != .full else { return }
    }
    live.apply(.setAside)
  }

  /// Closes the file. An error leaves it as a crash would: the next start continues with it.
  func close() { try? folder?.projection.close(waitsForReaders: false) }

  // MARK: Orders

  /// Does what is ordered. An error is logged and does not end the journal.
  func perform(_ order: ProjectionOrder) -> ProjectionOrder.Outcome {
    // If the live one was closed and no other opened, the other thread opens it again.
    defer { if folder == nil, live.state == .following { live.apply(.writeFailed) } }
    do throws(LedgerError) {
      switch order {
      case .adopt(let fold): return try makeLive(fold)
      case .refold(let id): return refold(only: id)
      }
    } catch {
      StoreErrors.record(.projection, "rows_order_failed", error)
      return .failed
    }
  }

  private func makeLive(_ fold: String) throws(LedgerError) -> ProjectionOrder.Outcome {
    guard fold == ledger.folder.fold.fingerprint else { return .otherProgram }
    guard journal.isJudged else { return .notJudged }
    let lock = try ledger.folder.lockRebuild()
    defer { withExtendedLifetime(lock) {} }
    let building = Rebuild.buildingPath(ledger.folder)
    // Caught up while the live projection still answers, then switched by a rename.
    guard case .usable = try ProjectionChoice.condition(building, reader),
      let built = try open(building)
    else { return .nothing }
    try built.projection.close()
    try closeForSwitch()
    let path = try ProjectionFile.goLive(building, in: ledger.folder)
    guard let opened = try open(path) else { return .failed }
    folder = opened
    live.apply(.wentLive, .init(path: path, isOwn: true))
    if journal.head.seq > 0 {
      Log.write(.info, "rows_live", [("seq", .integer(journal.head.seq))])
    }
    return .done
  }

  /// Closes the live projection before another one is opened.
  private func closeForSwitch() throws(LedgerError) {
    let closing = folder
    folder = nil
    do throws(LedgerError) {
      try closing?.projection.close(waitsForReaders: false)
    } catch .busy {
      // A reader uses the -wal. It stays beside the file, which is only read from now on.
    }
  }

  private func refold(only originalTransactionId: String) -> ProjectionOrder.Outcome {
    guard let folder = following else { return .notFollowing(live.state) }
    do throws(LedgerError) {
      let counts = try folder.refold(only: originalTransactionId, reader)
      return .refolded(streams: counts.streams, changed: counts.changed)
    } catch {
      failed(error)
      return .failed
    }
  }
}
