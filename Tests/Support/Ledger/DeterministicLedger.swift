package import Ledger
package import Platform
package import Store

/// A ledger without threads: the test decides when the writer works, and so in which order things
/// happen. Ingest, journal, fold and readers are those of `Ledger`; only the waiting is missing. It
/// makes orders testable that threads rarely produce.
package final class DeterministicLedger {
  /// Queues submissions and control requests as usual; they are processed by `work`.
  package let ledger: Ledger
  private let writer: LedgerWriter
  private let maintenance: ProjectionMaintenance
  private let waiting: Waiting
  /// Whether the projection has followed the journal since the start.
  package private(set) var wasPrepared = false

  /// How often the projection's thread and the writer take turns at most. To put a damaged
  /// projection aside, build another one and make that live takes three turns; an order that failed
  /// takes one more, in which nothing is done.
  private static let turns = 8

  /// What the projection's thread would have waited so far, nanoseconds.
  private final class Waiting { var total: Int64 = 0 }

  private init(_ ledger: Ledger, _ writer: LedgerWriter, clock: @escaping () -> Int64) {
    let waiting = Waiting()
    self.ledger = ledger
    self.writer = writer
    self.waiting = waiting
    maintenance = ProjectionMaintenance(ledger) { clock() + waiting.total }
  }

  /// Opens a folder as a start of the daemon does.
  ///
  /// - Parameters:
  ///   - now: milliseconds since 1970 UTC, for the record of migrations.
  ///   - clock: a monotonic clock in nanoseconds.
  ///   - shared: the shared journal of a copy.
  package static func open(
    _ folder: DataFolder, now: Int64, clock: @escaping () -> Int64, shared: SharedAccess? = nil
  ) throws(LedgerError) -> DeterministicLedger {
    let ledger = Ledger(folder: folder, shared: shared)
    let writer = try LedgerWriter.open(
      ledger, now: now, clock: clock, pause: { _ in }, onFailure: { _ in })
    return DeterministicLedger(ledger, writer, clock: clock)
  }

  /// One step of the writer: commits, folds and answers everything that is queued.
  package func work() {
    writer.serve(ledger.jobs.dequeueAll(within: 0) ?? [])
    wasPrepared = wasPrepared || hasProjection
  }

  /// Whether every event is folded into the projection before it is answered.
  package var hasProjection: Bool { ledger.liveProjection.state == .following }

  /// Prepares the projection as a separate thread does when the daemon starts, and does the
  /// writer's part. Can be called again if it failed; does nothing once it succeeded.
  ///
  /// - Parameter progress: called while the projection is built, when the writer may work; false
  ///   stops the build.
  package func prepareProjection(progress: () -> Bool) throws(LedgerError) {
    for _ in 0..<Self.turns where !hasProjection {
      if lacksOwn {
        var plan = Rebuild.Plan()
        (plan.threads, plan.isFromScratch) = (1, false)
        guard try Rebuild.build(ledger.folder, plan, progress: { _, _ in progress() }) != nil else {
          return
        }
      }
      turn()
    }
  }

  /// Lets the projection's thread and the writer work until the projection follows the journal
  /// again, or can not for now. With a projection that follows it, the thread checks that.
  package func recoverProjection() {
    turn()
    for _ in 1..<Self.turns where !hasProjection { turn() }
  }

  /// Whether this program's projection must be built.
  private var lacksOwn: Bool {
    switch ledger.liveProjection.state {
    case .absent, .building, .otherFold: true
    case .catchingUp, .following, .damaged, .unwritable: false
    }
  }

  /// One step of the projection's thread, then one of the writer, then the pause that the thread
  /// asks for.
  private func turn() {
    let pause = maintenance.advance()
    work()
    waiting.total += Int64(max(0, pause)) * 1_000_000
  }

  /// Processes everything that is queued and closes, as `Ledger.stop` does.
  package func stop() {
    ledger.jobs.close()
    while let jobs = ledger.jobs.dequeueAll() { writer.serve(jobs) }
    writer.close()
  }
}
