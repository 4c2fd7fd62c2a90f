package import JournalStore
package import LedgerEngine
import Platform

/// A ledger without threads of its own: whoever holds it says when the writer works, and so in
/// which order things happen. The door, the journal, the fold and the readers are those of
/// `Ledger`; only the waiting is not there. For trials of orders that threads seldom come to.
package final class DeterministicLedger {
  /// Takes submissions and orders as ever; nothing is done about them before `work`.
  package let ledger: Ledger
  private let writer: LedgerWriter
  private let found: ProjectionExaminer.Found

  private init(_ ledger: Ledger, _ writer: LedgerWriter, _ found: ProjectionExaminer.Found) {
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
  ) throws(StoreError) -> DeterministicLedger {
    let ledger = Ledger(folder: folder)
    let (writer, found) = try LedgerWriter.open(
      ledger, now: now, clock: clock, onFailure: { _ in })
    return DeterministicLedger(ledger, writer, found)
  }

  /// One step of the writer: what waits is committed, folded and answered.
  package func work() { writer.serve(ledger.jobs.takeAll(within: 0) ?? []) }

  /// Whether the writer has the rows, or has had them: it is the one who gets them back.
  package var hasProjection: Bool { writer.ownsProjection }

  /// What a thread of its own does about rows at a start, and then the writer's part of it. Again
  /// where it came to nothing; nothing where it is done.
  ///
  /// - Parameter progress: called while rows are built, when the writer may work; false cuts the
  ///   building off.
  package func prepareProjection(progress: () -> Bool) throws(StoreError) {
    guard !hasProjection else { return }
    switch found {
    case .own(let path):
      ProjectionStartUp.catchUp(path, ledger)
      _ = ledger.jobs.put(.followProjection(then: {}))
    case .another, .heldBack: _ = ledger.jobs.put(.followProjection(then: {}))
    case .none:
      var plan = Rebuild.Plan()
      (plan.threads, plan.isFromScratch) = (1, false)
      let report = try Rebuild.build(ledger.folder, plan) { _, _ in progress() }
      if report == nil { return }
      ledger.adopt(keeping: Rebuild.retainedByDefault, unlessHeld: true) { _ in }
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
