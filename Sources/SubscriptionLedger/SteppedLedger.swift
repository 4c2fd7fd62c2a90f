package import JournalStore
import Platform

/// A ledger without threads of its own: whoever holds it says when the writer works, and so in
/// which order things happen. The door, the journal, the fold and the readers are those of
/// `Ledger`; only the waiting is not there. For trials of orders that threads seldom come to.
package final class SteppedLedger {
  /// Takes submissions and orders as ever; nothing is done about them before `work`.
  package let ledger: Ledger
  private let writer: LedgerWriter
  private let found: RowsBuilder.Found

  private init(_ ledger: Ledger, _ writer: LedgerWriter, _ found: RowsBuilder.Found) {
    self.ledger = ledger
    self.writer = writer
    self.found = found
  }

  /// Opens a folder as a start of the daemon does.
  ///
  /// - Parameters:
  ///   - now: milliseconds since 1970, for the record of migrations.
  ///   - clock: nanoseconds of a clock that never steps.
  package static func open(
    _ folder: DataFolder, now: Int64, clock: @escaping () -> Int64
  ) throws(StoreError) -> SteppedLedger {
    let ledger = Ledger(folder: folder)
    let (writer, found) = try LedgerWriter.open(
      ledger, now: now, clock: clock, onFailure: { _ in })
    return SteppedLedger(ledger, writer, found)
  }

  /// One step of the writer: what waits is committed, folded and answered.
  package func work() { writer.serve(ledger.jobs.takeAll(within: 0) ?? []) }

  /// Whether the writer has the rows, or has had them: it is the one who gets them back.
  package var hasRows: Bool { writer.ownsRows }

  /// What a thread of its own does about rows at a start, and then the writer's part of it. Again
  /// where it came to nothing; nothing where it is done.
  ///
  /// - Parameter progress: called while rows are built, when the writer may work; false cuts the
  ///   building off.
  package func prepareRows(progress: () -> Bool) throws(StoreError) {
    guard !hasRows else { return }
    switch found {
    case .own(let path):
      RowsStart.catchUp(path, ledger)
      _ = ledger.jobs.put(.takeRows(then: {}))
    case .another, .heldBack: _ = ledger.jobs.put(.takeRows(then: {}))
    case .none:
      var plan = Rebuild.Plan()
      (plan.threads, plan.isFromScratch) = (1, false)
      let report = try Rebuild.build(ledger.folder, plan) { _, _ in progress() }
      if report == nil { return }
      ledger.adopt(keeping: Rebuild.keptByDefault, unlessHeld: true) { _ in }
    }
    work()
  }

  /// Ends in good order, as `Ledger.stop` does. What waits is done first.
  package func stop() {
    ledger.jobs.close()
    while let jobs = ledger.jobs.takeAll() { writer.serve(jobs) }
    writer.close()
  }
}
