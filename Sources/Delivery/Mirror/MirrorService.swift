import Ledger
import Platform
import StrictJSON
import Synchronization

/// The daemon's threads that keep mirrors current, one for each: a database that is slow or gone
/// holds up nothing else.
final class MirrorService: Sendable {
  private let ledger: Ledger
  private let state = Mutex(State())

  private struct State {
    var running: [String: RunningMirror] = [:]
    var isStopped = false
  }

  init(_ ledger: Ledger) {
    self.ledger = ledger
    ledger.onCommit { [weak self] in self?.wake() }
  }

  private func wake() {
    let threads = state.withLock { $0.running.values.map(\.thread) }
    for thread in threads { thread.wake() }
  }

  /// Starts mirrors that are new or changed, and stops those that are gone.
  ///
  /// - Parameters:
  ///   - paused: the names of those that were paused before a restart.
  ///   - unknown: the names of those that this data folder had and knows nothing of.
  func adopt(
    _ mirrors: [Configuration.Mirror], paused: Set<String>, unknown: Set<String>
  ) {
    state.withLock { state in
      guard !state.isStopped else { return }
      for (name, running) in state.running where !mirrors.contains(running.mirror) {
        running.thread.requestStop()
        state.running[name] = nil
      }
      for mirror in mirrors where state.running[mirror.name] == nil {
        let running = RunningMirror(
          mirror, isPaused: paused.contains(mirror.name),
          unknown.contains(mirror.name) ? .unknown : .proven, at: Clock.now())
        start(running, &state)
      }
    }
  }

  private func start(_ running: RunningMirror, _ state: inout State) {
    do throws(LedgerError) {
      try running.thread.start { [ledger] in
        MirrorWorker(running.mirror, running, ledger).run()
      }
      state.running[running.mirror.name] = running
    } catch {
      StoreErrors.record(
        .mirrors, "mirror_not_started", [("error", .string(error.detail))])
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

  var statuses: [MirrorStatus] {
    state.withLock { $0.running.values.map(\.status) }.sorted { $0.name < $1.name }
  }

  /// Stops a mirror's work until it is resumed. Returns its status; nil if there is no mirror of
  /// this name.
  func pause(_ name: String) -> MirrorStatus? {
    guard let running = state.withLock({ $0.running[name] }) else { return nil }
    running.pause()
    return running.status
  }

  /// Resumes a mirror that is paused or lost. Returns its status; nil if there is no mirror of this
  /// name.
  ///
  /// - Parameter start: where it goes on; nil if nothing is said.
  func resume(_ name: String, _ start: MirrorStart?) -> MirrorStatus? {
    guard let running = state.withLock({ $0.running[name] }) else { return nil }
    running.resume(start)
    return running.status
  }
}
