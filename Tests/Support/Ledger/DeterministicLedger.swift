package import JournalStore
package import LedgerEngine
import Platform

/// A ledger without threads: the test decides when the writer works, and so in which order things
/// happen. Ingest, journal, fold and readers are those of `Ledger`; only the waiting is missing. It
/// makes orders testable that threads rarely produce.
package final class DeterministicLedger {
  /// Queues submissions and control requests as usual; they are processed by `work`.
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
  ///   - now: milliseconds since 1970 UTC, for the record of migrations.
  ///   - clock: a monotonic clock in nanoseconds.
  package static func open(
    _ folder: DataFolder, now: Int64, clock: @escaping () -> Int64
  ) throws(StoreError) -> DeterministicLedger {
    let ledger = Ledger(folder: folder)
    let (writer, found) = try LedgerWriter.open(
      ledger, now: now, clock: clock, onFailure: { _ in })
    return DeterministicLedger(ledger, writer, found)
  }

  /// One step of the writer: commits, folds and answers everything that is queued.
  package func work() { writer.serve(ledger.jobs.dequeueAll(within: 0) ?? []) }

  /// Whether the writer owns the live projection, now or once it is open again.
  package var hasProjection: Bool { writer.ownsProjection }

  /// Prepares the projection as a separate thread does when the daemon starts, then does the
  /// writer's part. Can be called again if it failed; does nothing once it succeeded.
  ///
  /// - Parameter progress: called while the projection is built, when the writer may work; false
  ///   stops the build.
  package func prepareProjection(progress: () -> Bool) throws(StoreError) {
    guard !hasProjection else { return }
    switch found {
    case .own(let path):
      ProjectionStartUp.catchUp(path, ledger)
      _ = ledger.jobs.enqueue(.takeOverProjection({}))
    case .another, .rolledBack: _ = ledger.jobs.enqueue(.takeOverProjection({}))
    case .none:
      var plan = Rebuild.Plan()
      (plan.threads, plan.isFromScratch) = (1, false)
      let report = try Rebuild.build(ledger.folder, plan) { _, _ in progress() }
      if report == nil { return }
      ledger.makeLive(retaining: Rebuild.retainedByDefault, unlessRolledBack: true) { _ in }
    }
    work()
  }

  /// Processes everything that is queued and closes, as `Ledger.stop` does.
  package func stop() {
    ledger.jobs.close()
    while let jobs = ledger.jobs.dequeueAll() { writer.serve(jobs) }
    writer.close()
  }
}
