import Entitlements
public import JournalStore
package import Platform
import Synchronization

/// The running ledger: one data folder, one writer thread, and a queue between it and the world.
///
/// Keeps promises 1 (an answer leaves after the sync) and 10 (one writer).
public final class Ledger: Sendable {
  /// What became of something submitted.
  public enum Outcome: Sendable, Equatable {
    case accepted(seq: Int64)
    case duplicate(seq: Int64)
    /// Another notification has this uuid; the newcomer is in quarantine.
    case conflict(seq: Int64)
    case quarantined
    /// A kept receive time lies before the head's.
    case receiveTimeBehind
    /// Behind a refused one of its run.
    case skipped
    /// Not kept, and not refused: to be sent again.
    case unavailable(String)
  }

  /// Behind so many the answer is 503. What waits is on the disk after two more syncs at most, so
  /// that a slow disk is told to the senders as soon as it cannot keep up.
  public static let queueLength = 2 * Journal.batchLimit

  /// Which rows readers of this process shall open.
  public let rows: LiveProjection
  public let folder: DataFolder
  /// What its journal packs bodies against.
  public let dictionary = SharedDictionary()
  /// What the writer says of itself.
  public let meter = WriterMeter()
  package let jobs = BoundedQueue<LedgerJob>(capacity: Ledger.queueLength)
  private let state = Mutex(State())
  private let projectionReady = WakeupEvent()

  private struct State {
    var seq: Int64 = 0
    var failure: StoreError?
    var writer: WakeupEvent?
    /// The rows of the start are live, or nobody need wait for them any more.
    var hasProjection = false
  }

  package init(folder: DataFolder) {
    self.folder = folder
    rows = LiveProjection(folder: folder)
  }

  /// Opens a folder's journal, or makes one, and starts the writer. Returns once notifications can
  /// be taken; rows follow, at once where they need no more than catching up.
  ///
  /// - Parameters:
  ///   - now: milliseconds since 1970, for the record of migrations.
  ///   - onFailure: called once, on the writer's thread, when the journal may no longer be written:
  ///     the process is to end, so that the next start can mend what the disk did.
  public static func start(
    _ folder: DataFolder, now: Int64, onFailure: @escaping @Sendable (StoreError) -> Void
  ) throws(StoreError) -> Ledger {
    let ledger = Ledger(folder: folder)
    let opened = BoundedQueue<Result<ProjectionExaminer.Found, StoreError>>(capacity: 1)
    let ending = WakeupEvent()
    ledger.state.withLock { $0.writer = ending }
    do throws(PlatformError) {
      _ = try Thread.start("writer") {
        LedgerWriter.run(ledger, now: now, opened: opened, onFailure: onFailure)
        ending.ring()
      }
    } catch {
      throw .platform(attempt: "start the writer", code: 11)
    }
    let found = try opened.take()?.get()
    ledger.startProjection(found ?? .none)
    return ledger
  }

  /// Something received, and who is told what became of it: on the writer's thread once it is
  /// synced, or at once, where it is submitted, when the queue is full.
  public typealias Submitted = (received: Receiver.Received, then: @Sendable (Outcome) -> Void)

  /// Hands what was received to the writer, which is woken once.
  public func submit(_ submitted: [Submitted]) {
    let count = jobs.put(contentsOf: submitted.map { .submit($0.received, $0.then) })
    for (_, then) in submitted.dropFirst(count) { then(.unavailable("overload")) }
  }

  public func submit(
    _ received: Receiver.Received, then: @escaping @Sendable (Outcome) -> Void
  ) {
    submit([(received, then)])
  }

  /// Drops one from quarantine; `then` gets whether there was one.
  public func dropQuarantined(_ id: Int64, then: @escaping @Sendable (Bool) -> Void) {
    if !jobs.put(.drop(id, then)) { then(false) }
  }

  /// What became of an order about projections.
  public enum ProjectionOutcome: Sendable {
    case done
    /// There is none to do it to.
    case nothing
    /// The log says why; what was live is live.
    case failed
  }

  /// Makes what was built the live projection, and keeps so many of those that were live before.
  ///
  /// - Parameter unlessHeld: leaves rows alone that are live because somebody went back to them,
  ///   and says it is done.
  public func adopt(
    keeping kept: Int, unlessHeld: Bool = false,
    then: @escaping @Sendable (ProjectionOutcome) -> Void
  ) {
    if !jobs.put(.adopt(keeping: kept, unlessHeld: unlessHeld, then)) { then(.failed) }
  }

  /// Makes the projection live again that was so before.
  public func rollBack(then: @escaping @Sendable (ProjectionOutcome) -> Void) {
    if !jobs.put(.rollBack(then)) { then(.failed) }
  }

  /// Removes kept projections past the first so many.
  public func prune(keeping kept: Int, then: @escaping @Sendable (ProjectionOutcome) -> Void) {
    if !jobs.put(.prune(keeping: kept, then)) { then(.failed) }
  }

  /// Folds one customer's streams anew; `then` gets how many there are and how many rows changed,
  /// nil where this fold's rows are not the live ones.
  public func refold(
    only originalTransactionId: String,
    then: @escaping @Sendable ((streams: Int, changed: Int)?) -> Void
  ) {
    if !jobs.put(.refold(originalTransactionId, then)) { then(nil) }
  }

  /// The last seq that was journaled, as far as this process knows.
  public var seq: Int64 { state.withLock { $0.seq } }

  /// Why notifications can no longer be taken; nil while they can.
  public var failure: StoreError? { state.withLock { $0.failure } }

  /// How many submissions wait.
  public var waiting: Int { jobs.count }

  /// Finishes what waits, closes the files, and returns.
  public func stop() {
    jobs.close()
    let writer = state.withLock { state in
      defer { state.writer = nil }
      return state.writer
    }
    writer?.wait()
  }

  func note(seq: Int64) { state.withLock { $0.seq = seq } }
  func note(failure: StoreError) { state.withLock { $0.failure = failure } }

  /// Catches up or builds the rows on a thread of their own, then has the writer take them over.
  /// Waits for that a moment, so that a start with rows at hand has them when it is ready.
  private func startProjection(_ found: ProjectionExaminer.Found) {
    let ledger = self
    let started = try? Thread.start("rows") {
      switch found {
      case .own(let path):
        ProjectionStartUp.catchUp(path, ledger)
        ledger.followProjection()
      case .another:
        ledger.followProjection()
        ProjectionStartUp.build(ledger, isHurried: false, then: {})
      case .heldBack:
        ledger.followProjection()
      case .none:
        ProjectionStartUp.build(ledger, isHurried: true, then: ledger.markProjectionReady)
      }
    }
    if started == nil { markProjectionReady() }
    projectionReady.wait(milliseconds: 2000)
  }

  private func followProjection() {
    if !jobs.put(.followProjection(then: markProjectionReady)) { markProjectionReady() }
  }

  @Sendable private func markProjectionReady() {
    state.withLock { $0.hasProjection = true }
    projectionReady.ring()
  }

  /// Whether the rows of the start are live, or cannot be.
  public var hasProjection: Bool { state.withLock { $0.hasProjection || $0.failure != nil } }

  /// Returns once `hasProjection` is true or `stops` returns true, asked four times a second.
  public func waitForProjection(unless stops: () -> Bool) {
    while !hasProjection, !stops() { projectionReady.wait(milliseconds: 250) }
  }
}

/// What the writer is asked to do.
package enum LedgerJob: Sendable {
  case submit(Receiver.Received, @Sendable (Ledger.Outcome) -> Void)
  case drop(Int64, @Sendable (Bool) -> Void)
  case adopt(keeping: Int, unlessHeld: Bool, @Sendable (Ledger.ProjectionOutcome) -> Void)
  case rollBack(@Sendable (Ledger.ProjectionOutcome) -> Void)
  case prune(keeping: Int, @Sendable (Ledger.ProjectionOutcome) -> Void)
  case refold(String, @Sendable ((streams: Int, changed: Int)?) -> Void)
  /// Rows are live: to be followed, or, where another fold made them, to be read.
  case followProjection(then: @Sendable () -> Void)
}
