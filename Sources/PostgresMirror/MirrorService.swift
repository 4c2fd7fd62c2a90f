public import Configuration
public import LedgerEngine
import Observability
import Platform
import StrictJSON
import Synchronization

/// The daemon's threads that keep mirrors current, one for each: a database that is slow or gone
/// holds up nothing else.
public final class MirrorService: Sendable {
  private let ledger: Ledger
  private let state = Mutex(State())

  private struct State {
    var running: [String: RunningMirror] = [:]
    var threads: [String: Thread] = [:]
    var isStopped = false
  }

  public init(_ ledger: Ledger) {
    self.ledger = ledger
    ledger.onCommit { [weak self] in self?.wake() }
  }

  private func wake() {
    let wakeups = state.withLock { $0.running.values.map(\.wakeup) }
    for wakeup in wakeups { wakeup.signal() }
  }

  /// Starts mirrors that are new or changed, and stops those that are gone.
  ///
  /// - Parameter paused: the names of those that were paused before a restart.
  public func adopt(_ mirrors: [Configuration.Mirror], paused: Set<String>) {
    state.withLock { state in
      guard !state.isStopped else { return }
      for (name, running) in state.running where !mirrors.contains(running.mirror) {
        running.stop()
        // Its thread ends by itself.
        (state.running[name], state.threads[name]) = (nil, nil)
      }
      for mirror in mirrors where state.running[mirror.name] == nil {
        start(mirror, isPaused: paused.contains(mirror.name), &state)
      }
    }
  }

  private func start(_ mirror: Configuration.Mirror, isPaused: Bool, _ state: inout State) {
    let (running, ledger) = (RunningMirror(mirror, isPaused: isPaused, at: Clock.now()), ledger)
    do throws(PlatformError) {
      state.threads[mirror.name] = try Thread.start("mirror") {
        Niceness.background.apply()
        MirrorWorker(mirror, running, ledger).run()
      }
      state.running[mirror.name] = running
    } catch {
      Log.write(.error, "mirror_not_started", [("error", .string(error.description))])
    }
  }

  /// Ends all threads. An SQL transaction that is open is rolled back.
  public func stop() {
    let threads = state.withLock { state in
      state.isStopped = true
      for running in state.running.values { running.stop() }
      defer { (state.running, state.threads) = ([:], [:]) }
      return Array(state.threads.values)
    }
    for thread in threads { thread.join() }
  }

  public var statuses: [MirrorStatus] {
    state.withLock { $0.running.values.map(\.status) }.sorted { $0.name < $1.name }
  }

  /// Stops a mirror's work until it is resumed, or resumes it. Returns its status; nil if there is
  /// no mirror of this name.
  public func setPaused(_ isPaused: Bool, _ name: String) -> MirrorStatus? {
    guard let running = state.withLock({ $0.running[name] }) else { return nil }
    running.setPaused(isPaused)
    return running.status
  }
}
