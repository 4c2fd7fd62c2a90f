import JournalStore
import Observability
import Platform
import StrictJSON

/// Maintains the live projection on the writer's thread: folds each committed batch into it, and
/// switches from one projection to another.
///
/// The journal has the events whatever happens here. A projection that cannot be written is closed
/// to readers, and caught up when it can be written again.
final class ProjectionWriter {
  private let ledger: Ledger
  private let journal: Journal
  private let reader: JournalReader
  /// Nil while a projection is built on another thread, while another fold's is live, and while it
  /// cannot be written.
  private var folder: ProjectionFolder?
  /// Whether the writer has taken over a projection: from then on the writer recovers it.
  private(set) var ownsProjection = false
  /// While another thread folds into the live projection at the start: a file has one writer.
  private var isCatchingUp: Bool

  /// - Parameter found: what the start found live.
  init(
    _ ledger: Ledger, _ journal: Journal, _ reader: JournalReader,
    _ found: ProjectionExaminer.Found
  ) {
    self.ledger = ledger
    self.journal = journal
    self.reader = reader
    isCatchingUp = if case .own = found { true } else { false }
  }

  /// The projection could not be written, mostly because the disk was full, and should be retried.
  var needsRecovery: Bool { folder == nil && ownsProjection }

  // MARK: Folding

  /// Folds what a batch added to the journal.
  func fold(_ received: [Receiver.Received], _ dispositions: [Disposition]) {
    guard let folder else {
      if ownsProjection { recover() }
      return
    }
    var steps: [ProjectionFolder.Step] = []
    var isChanged = false
    for (item, disposition) in zip(received, dispositions) {
      guard case .accepted(let seq) = disposition else { continue }
      isChanged = true
      guard let stream = item.stream, let event = item.foldEvent(seq: seq) else { continue }
      steps.append(ProjectionFolder.Step(stream: stream, seq: seq, event: event))
    }
    guard isChanged else { return }
    do throws(StoreError) {
      let late = try folder.fold(
        steps, through: journal.head.seq, hash: journal.head.hash, journal: reader)
      ledger.liveProjection.recordCommit()
      if late > 0 { ledger.meter.late.add(late) }
      try folder.projection.checkpointIfNeeded()
    } catch {
      self.folder = nil
      ledger.liveProjection.close()
      recover()
    }
  }

  /// Takes over the live projection once another thread has caught it up, or opens another fold's
  /// for readers.
  func takeOver() {
    isCatchingUp = false
    ownsProjection = true
    if folder == nil { recover() }
  }

  /// Opens the projection that the list calls live.
  func recover() {
    do throws(StoreError) {
      try ledger.liveProjection.switchOver { () throws(StoreError) in
        guard let name = try ProjectionList.read(ledger.folder).live else {
          throw .foreign("no projection is live")
        }
        return try open(ledger.folder.projection(named: name))
      }
    } catch {
      folder = nil
    }
  }

  /// Opens a projection as the live one. From here on every event is folded into it before it is
  /// answered. Another fold's is only read: readers fold what it lacks themselves.
  private func open(_ path: String) throws(StoreError) -> (path: String, isMaintained: Bool) {
    switch try ProjectionExaminer.condition(path, reader) {
    case .usable:
      let opened = ProjectionFolder(try Projection.open(path))
      try opened.catchUp(reader)
      folder = opened
      ownsProjection = true
      return (path, true)
    case .otherFold:
      ownsProjection = false
      return (path, false)
    default: throw .foreign("the projection \(path) cannot be continued")
    }
  }

  /// - Throws: what SQLite reports.
  func close() throws(StoreError) { try folder?.projection.close() }

  /// Closes the live projection before another one is opened.
  private func closeForSwitch() throws(StoreError) {
    let closing = folder
    folder = nil
    do throws(StoreError) {
      try closing?.projection.close(waitsForReaders: false)
    } catch .busy {
      // A reader uses the -wal. It stays beside the file, which is only read from now on.
    }
  }

  // MARK: Commands

  /// Makes the built projection live, and retains `count` of those that were live before.
  ///
  /// - Parameter unlessRolledBack: does nothing while a projection is live to which an operator
  ///   returned.
  func makeLive(retaining count: Int, unlessRolledBack: Bool) -> Ledger.ProjectionOutcome {
    perform { () throws(StoreError) in
      // One that was deleted is no reason to wait (promise 7).
      if unlessRolledBack, ledger.liveProjection.generation != nil,
        try ProjectionList.read(ledger.folder).isHeld
      {
        return .done
      }
      return try makeLive(retaining: count)
    }
  }

  /// Catches up what was built while the live projection still answers, then switches by a rename.
  private func makeLive(retaining count: Int) throws(StoreError) -> Ledger.ProjectionOutcome {
    let lock = try ledger.folder.lockRebuild()
    defer { withExtendedLifetime(lock) {} }
    let building = Rebuild.buildingPath(ledger.folder)
    guard case .usable = try ProjectionExaminer.condition(building, reader) else { return .nothing }
    try catchUp(building)
    try ledger.liveProjection.switchOver { () throws(StoreError) in
      try closeForSwitch()
      return try open(
        try ProjectionFile.goLive(
          building, in: ledger.folder, foldVersion: FoldIdentity.version, keeping: count))
    }
    if journal.head.seq > 0 {
      Log.write(.info, "rows_live", [("seq", .integer(journal.head.seq))])
    }
    return .done
  }

  /// Makes the projection live again that was live before.
  func rollBack() -> Ledger.ProjectionOutcome {
    perform { () throws(StoreError) in
      guard let name = try ProjectionList.read(ledger.folder).retained.first else {
        return .nothing
      }
      try catchUp(ledger.folder.projection(named: name))
      var outcome = Ledger.ProjectionOutcome.done
      try ledger.liveProjection.switchOver { () throws(StoreError) in
        try closeForSwitch()
        if let before = try Rebuild.rollBack(ledger.folder, reader) { return try open(before) }
        outcome = .nothing
        let live = try ProjectionList.read(ledger.folder).live ?? ""
        return try open(ledger.folder.projection(named: live))
      }
      Log.write(.info, "rows_rolled_back", [("outcome", .string("\(outcome)"))])
      return outcome
    }
  }

  /// Removes all but `count` retained projections.
  func prune(retaining count: Int) -> Ledger.ProjectionOutcome {
    perform { () throws(StoreError) in
      try ProjectionFile.prune(ledger.folder, keeping: count)
      return .done
    }
  }

  /// Folds one customer's streams again.
  ///
  /// - Returns: nil if this fold's projection is not live.
  /// - Throws: what SQLite reports.
  func refold(
    only originalTransactionId: String
  ) throws(StoreError) -> (streams: Int, changed: Int)? {
    defer { ledger.liveProjection.recordCommit() }
    return try folder?.refold(only: originalTransactionId, reader)
  }

  /// Catches up a projection that is not live, unless another fold made it.
  private func catchUp(_ path: String) throws(StoreError) {
    guard case .usable = try ProjectionExaminer.condition(path, reader) else { return }
    let folder = ProjectionFolder(try Projection.open(path))
    try folder.catchUp(reader)
    try folder.projection.close()
  }

  /// Runs a command. An error is logged and does not end the journal.
  private func perform(
    _ command: () throws(StoreError) -> Ledger.ProjectionOutcome
  ) -> Ledger.ProjectionOutcome {
    do throws(StoreError) {
      if isCatchingUp { throw .busy }
      return try command()
    } catch {
      Log.write(.error, "rows_order_failed", [("error", .string(error.description))])
      if folder == nil && !isCatchingUp { recover() }
      return .failed
    }
  }
}
