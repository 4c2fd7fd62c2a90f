import Platform
import Store
import StrictJSON

/// Brings the live projection from each of its states to `following`, and checks it there: builds
/// it, catches it up, has it put aside. On one thread, beside the writer's, which does what must
/// not happen while it folds.
///
/// `advance` does what the present state asks for. It never waits for the writer: an order that was
/// given changes the state when the writer has served it, and that signals
/// `LiveProjection.changed`.
package final class ProjectionMaintenance {
  private let ledger: Ledger
  private let clock: () -> Int64
  /// The order that was given to the writer: how many it had served, and in which state.
  private var ordered: (served: Int, state: ProjectionState, generation: Int)?
  private var check: ProjectionCheckUp?
  /// Whether a build has come to its end and waits until held evidence is judged.
  private var isBuilt = false
  /// `Ledger.foldedHead` when some rows were checked last.
  private var checkedAtSeq: Int64 = 0
  /// When the next check begins, nanoseconds of `clock`.
  private var nextCheck: Int64 = 0
  /// How often in turn a file was built and found damaged again, or could not be built; a check
  /// that finds nothing ends the turn.
  private var failures = 0
  /// When the next build may begin, nanoseconds of `clock`: a disk that damages every
  /// file must not keep a processor busy.
  private var nextBuild: Int64 = 0

  /// - Parameter clock: nanoseconds of a clock that never steps.
  package init(_ ledger: Ledger, clock: @escaping () -> Int64 = Clock.monotonicNanoseconds) {
    self.ledger = ledger
    self.clock = clock
  }

  /// Runs until the ledger stops.
  func run() {
    while !ledger.jobs.isClosed { ledger.liveProjection.changed.wait(milliseconds: advance()) }
  }

  /// Does what the present state asks for.
  ///
  /// - Returns: milliseconds after which it should be called again, even if nothing changed.
  package func advance() -> Int32 {
    let live = ledger.liveProjection.current
    if let ordered {
      guard ledger.liveProjection.ordersServed > ordered.served else { return -1 }
      self.ordered = nil
      // The writer could not do it, as on a full disk: a command that waits need not wait longer.
      if ordered.state == live.state, ordered.generation == live.generation {
        ledger.markProjectionReady()
        return Self.retryDelay
      }
    }
    switch live.state {
    case .damaged:
      // The first time at once.
      if failures > 0 { delayBuild() }
      failures += 1
      return order(.setProjectionAside)
    case .absent, .building, .otherFold: return build(live)
    case .catchingUp, .unwritable: return catchUp(live)
    case .following:
      ledger.markProjectionReady()
      return examine(live)
    }
  }

  /// Milliseconds until something is tried again.
  private static let retryDelay: Int32 = 1_000

  /// Gives the writer an order, whose completion is `LiveProjection.recordOrder`.
  private func order(_ job: LedgerJob) -> Int32 {
    let live = ledger.liveProjection.current
    ordered = (ledger.liveProjection.ordersServed, live.state, live.generation)
    return ledger.jobs.enqueueBeyondCapacity(job) ? -1 : Self.retryDelay
  }

  // MARK: Building

  private func build(_ live: LiveProjection.Snapshot) -> Int32 {
    // Lists can be answered from another fold's rows: then nobody waits for the build.
    if live.state == .otherFold { ledger.markProjectionReady() }
    // The end of judging signals `LiveProjection.changed`; what it journaled is folded then.
    guard !isBuilt || ledger.judging.isComplete else { return -1 }
    let wait = nextBuild - clock()
    guard wait <= 0 else { return Self.milliseconds(wait) }
    ledger.liveProjection.apply(.buildBegan)
    var plan = Rebuild.Plan()
    plan.isFromScratch = false
    plan.durations = ledger.configuredDurations
    do throws(LedgerError) {
      let report = try Rebuild.build(ledger.folder, plan) { _, _ in
        // Another fold's file that was found damaged is put aside first; the build continues then.
        !ledger.jobs.isClosed && ledger.liveProjection.state != .damaged
      }
      isBuilt = report != nil
      // Building took several times what the daemon needs otherwise.
      FreeMemory.release()
      guard isBuilt, ledger.judging.isComplete else { return 0 }
      let served = ledger.liveProjection.recordOrder
      let adopt = ProjectionOrder.adopt(fold: ledger.folder.fold.fingerprint)
      return order(.projection(adopt) { _ in served() })
    } catch {
      // Another process builds.
      if error.code == .locked { return 500 }
      StoreErrors.record(.projection, "rows_not_built", error)
      if error.isDamage { try? Rebuild.discard(ledger.folder) }
      ledger.liveProjection.apply(.buildFailed)
      ledger.markProjectionReady()
      failures += 1
      delayBuild()
      return 0
    }
  }

  private static let backoff = Backoff(first: 1_000, longest: 60_000)

  private func delayBuild() {
    nextBuild = clock() + Self.backoff.wait(after: failures) * 1_000_000
  }

  // MARK: Catching up

  private func catchUp(_ live: LiveProjection.Snapshot) -> Int32 {
    guard let path = live.readable?.path else { return Self.retryDelay }
    do throws(LedgerError) {
      let journal = try JournalReader.open(ledger.folder)
      // Readers have it open.
      let projection = try Projection.open(path, copiesWAL: false)
      try projection.adopt(ledger.durations)
      try ProjectionFolder(projection).catchUp(journal) { _, _ in
        // Nothing is folded into a file that a reader found damaged meanwhile.
        !ledger.jobs.isClosed && ledger.liveProjection.current.generation == live.generation
      }
      try projection.close(waitsForReaders: false)
    } catch .busy {
      // A reader uses the -wal: it stays beside the file, and the writer continues with it.
    } catch {
      return failed(live, error)
    }
    return order(.takeOverProjection)
  }

  private func failed(_ live: LiveProjection.Snapshot, _ error: LedgerError) -> Int32 {
    if error.isDamage {
      ledger.liveProjection.reportDamage(live.generation, error)
      return 0
    }
    StoreErrors.record(.projection, "rows_not_written", error)
    ledger.liveProjection.apply(.writeFailed)
    ledger.markProjectionReady()
    return Self.retryDelay
  }

  // MARK: Checking

  /// The shortest pause between two checks, nanoseconds, and the pause as a multiple of the time
  /// that a check took: checking takes at most a five-hundredth of a processor.
  private static let checkPause: Int64 = 10_000_000_000
  private static let checkPauseFactor: Int64 = 500

  /// - Parameter work: nanoseconds that the check took.
  package static func checkPause(after work: Int64) -> Int64 {
    max(checkPause, checkPauseFactor * work)
  }

  /// Checks some rows, and pauses nine times as long as that took; 99 times while notifications
  /// come, which the processor is for.
  private func examine(_ live: LiveProjection.Snapshot) -> Int32 {
    let start = clock()
    if check?.generation != live.generation { check = nil }
    guard check != nil || start >= nextCheck else { return Self.milliseconds(nextCheck - start) }
    do throws(LedgerError) {
      if check == nil {
        guard let readable = live.readable else { return Self.retryDelay }
        check = try ProjectionCheckUp(ledger.folder, readable, generation: live.generation)
      }
      let isComplete = try check?.advance() ?? true
      let end = clock()
      check?.work += end - start
      let seq = ledger.foldedHead.seq
      defer { checkedAtSeq = seq }
      guard isComplete else {
        return Self.milliseconds((seq == checkedAtSeq ? 9 : 99) * (end - start))
      }
      failures = 0
      if let check { ledger.liveProjection.recordCheck(beganAt: check.began) }
      nextCheck = end + Self.checkPause(after: check?.work ?? 0)
      check = nil
      return Self.milliseconds(nextCheck - end)
    } catch {
      check = nil
      nextCheck = clock() + Self.checkPause
      // Here a file that cannot be opened is damage too: readers that are open hide it.
      if error.code == .io { ledger.liveProjection.reportDamage(live.generation, error) }
      if error.isDamage { ledger.liveProjection.reportDamage(live.generation, error) }
      return Self.retryDelay
    }
  }

  private static func milliseconds(_ nanoseconds: Int64) -> Int32 {
    Int32(clamping: max(1, nanoseconds / 1_000_000))
  }
}
