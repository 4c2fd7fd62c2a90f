import Ledger
import Platform
import Store
import StrictJSON
import Synchronization

/// The daemon's threads that keep mirrors current, one for each: a database that is slow or gone
/// holds up nothing else.
final class MirrorService: Sendable {
  private let ledger: Ledger
  private let customers: CustomerFollower
  private let state = Mutex(State())

  private struct State {
    var running: [String: RunningMirror] = [:]
    var isStopped = false
  }

  init(_ ledger: Ledger, _ customers: CustomerFollower) {
    (self.ledger, self.customers) = (ledger, customers)
    ledger.onCommit { [weak self] in self?.wake() }
  }

  private func wake() {
    let threads = state.withLock { $0.running.values.map(\.thread) }
    for thread in threads { thread.wake() }
  }

  /// Starts mirrors that are new or changed, and stops those that are gone.
  ///
  /// - Parameters:
  ///   - records: what the folder has stored of sinks and mirrors: which it has, and which are
  ///     paused. Where a mirror is stands in its database.
  ///   - lost: the names of those that this data folder had and knows nothing of.
  /// - Returns: what is to be stored of new ones.
  @discardableResult func adopt(
    _ mirrors: [Configuration.Mirror], _ records: [SinkRecord] = [], lost: Set<String> = []
  ) -> [SinkRecord] {
    let known = Dictionary(records.map { ($0.id.name, $0.state) }) { $1 }
    state.withLock { state in
      guard !state.isStopped else { return }
      for (name, running) in state.running where !mirrors.contains(running.mirror) {
        running.thread.requestStop()
        state.running[name] = nil
      }
      for mirror in mirrors where state.running[mirror.name] == nil {
        let running = RunningMirror(
          mirror, isPaused: known[mirror.name] == SinkMachine.Condition.paused.rawValue,
          lost.contains(mirror.name) ? .unknown : .proven, at: Clock.now())
        start(running, &state)
      }
    }
    return mirrors.map(\.name).filter { known[$0] == nil && !lost.contains($0) }
      .map { Self.record($0, .on) }
  }

  private static func record(_ name: String, _ condition: SinkMachine.Condition) -> SinkRecord {
    let place = SinkMachine.Mark(seq: 0, hash: Head.empty.hash, clock: 0)
    return SinkRecord(SinkRecord.ID(name), place, condition, since: Clock.now())
  }

  private func start(_ running: RunningMirror, _ state: inout State) {
    do throws(LedgerError) {
      try running.thread.start { [ledger, customers] in
        MirrorWorker(running, ledger, customers).run()
      }
      state.running[running.mirror.name] = running
    } catch {
      StoreErrors.record(.mirrors, "mirror_not_started", error)
    }
  }

  /// Ends all threads. An SQL transaction that is open is rolled back.
  func stop() {
    let threads = state.withLock { state in
      state.isStopped = true
      defer { state.running = [:] }
      return state.running.values.map(\.thread)
    }
    for thread in threads { thread.requestStop() }
    for thread in threads { thread.stop() }
  }

  var statuses: [DeliveryStatus] {
    state.withLock { $0.running.values.map(\.status) }.sorted { $0.id < $1.id }
  }

  /// Does a command about a mirror. Returns what is to be stored of it, if anything, too.
  func perform(_ command: SinkCommand) -> (SinkRecord?, SinkCommand.Outcome) {
    guard let running = state.withLock({ $0.running[command.name] }) else { return (nil, .noSink) }
    var record: SinkRecord?
    switch command.verb {
    case .show: break
    case .pause:
      // What is stored then would be the folder's word that the mirror is its own.
      guard !running.isLost else {
        return (nil, .refused("its place is lost: nothing is written"))
      }
      record = Self.record(command.name, .paused)
      running.pause()
    case .resume:
      let (start, refusal) = Self.start(command.from, running)
      if let refusal { return (nil, .refused(refusal)) }
      record = Self.record(command.name, .on)
      running.resume(start)
    case .skip, .retry, .replay, .test:
      let why = "a mirror has rows and no messages; pause, resume and show are for it"
      return (nil, .refused(why))
    }
    return (record, .shown(running.status))
  }

  /// Where a mirror goes on, as the operator says, nil for where it was; or why it cannot.
  private static func start(
    _ from: String?, _ running: RunningMirror
  ) -> (MirrorStart?, refusal: String?) {
    let cursor = running.status.cursor
    switch from {
    case nil where !running.isLost: return (nil, nil)
    case _ where !running.isLost:
      return (nil, "a mirror goes on where its database is, unless its place is lost")
    case "start": return (.fill, nil)
    case cursor: return (.proven, nil)
    default:
      return (
        nil,
        "its place is lost: --from start fills its tables anew with this journal, and "
          + "--from \(cursor) goes on where they are, if this journal has that place"
      )
    }
  }
}
