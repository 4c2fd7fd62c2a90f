import Ledger
import Platform
import Store
import Synchronization

/// Reads that wait until the rows have an event, or all that a shared journal had when they came.
///
/// A read that waits holds no thread: it is a place in a list, which the writer's commits wake.
final class ReadBarrier: Sendable {
  /// The longest wait, milliseconds; after it the answer is 503.
  static let milliseconds: Int64 = 2_000
  /// Reads that may wait.
  private static let capacity = 1_000

  /// A read that waits. Its closure is called once, with false if the wait was too long.
  private final class Waiter: Sendable {
    /// The event that it waits for; nil if it waits for something else.
    let seq: Int64?
    let deadline = Deadline(milliseconds: ReadBarrier.milliseconds)
    private let proceed: Mutex<(@Sendable (Bool) -> Void)?>

    init(_ seq: Int64?, _ proceed: @escaping @Sendable (Bool) -> Void) {
      self.seq = seq
      self.proceed = Mutex(proceed)
    }

    var isOver: Bool { proceed.withLock { $0 == nil } }

    func finish(_ isReached: Bool) { proceed.withLock { $0.take() }?(isReached) }
  }

  private struct State {
    var waiters: [Waiter] = []
    var thread: Thread?
    var isStopped = false
  }

  private let ledger: Ledger
  private let wakeup = WakeupEvent()
  private let state = Mutex(State())

  init(_ ledger: Ledger) { self.ledger = ledger }

  /// Calls a closure once the rows have the event at `seq`.
  ///
  /// - Returns: false if too many wait.
  func wait(forSeq seq: Int64, _ proceed: @escaping @Sendable (Bool) -> Void) -> Bool {
    add(Waiter(seq, proceed))
  }

  /// Calls a closure once the rows have all that the shared journal has now.
  ///
  /// - Returns: false if too many wait.
  func waitUntilFresh(_ proceed: @escaping @Sendable (Bool) -> Void) -> Bool {
    let waiter = Waiter(nil, proceed)
    guard add(waiter) else { return false }
    ledger.refresh { waiter.finish($0) }
    return true
  }

  private func add(_ waiter: Waiter) -> Bool {
    let (isAdded, isFirst) = state.withLock { state in
      guard !state.isStopped, state.waiters.count < Self.capacity else { return (false, false) }
      let isFirst = state.thread == nil
      if isFirst {
        state.thread = try? Thread.start("reads") {
          Niceness.reactor.apply()
          self.run()
        }
      }
      guard state.thread != nil else { return (false, false) }
      state.waiters.append(waiter)
      return (true, isFirst)
    }
    if isFirst && isAdded {
      let wakeup = wakeup
      ledger.onCommit { wakeup.signal() }
    }
    if isAdded { wakeup.signal() }
    return isAdded
  }

  private func run() {
    while !state.withLock({ $0.isStopped }) {
      wakeup.clear()
      let waiters = state.withLock { $0.waiters }
      let seq = ledger.foldedHead.seq
      for waiter in waiters {
        if let wanted = waiter.seq, wanted <= seq { waiter.finish(true) }
        if waiter.deadline.hasPassed { waiter.finish(false) }
      }
      let next = state.withLock { state in
        state.waiters.removeAll { $0.isOver }
        return state.waiters.map(\.deadline).min()
      }
      guard ledger.foldedHead.seq == seq else { continue }
      wakeup.wait(milliseconds: next.map { $0.millisecondsLeft + 1 } ?? -1)
    }
  }

  /// Answers what waits, and ends the thread.
  func stop() {
    let thread = state.withLock { state in
      state.isStopped = true
      defer { state.thread = nil }
      return state.thread
    }
    wakeup.signal()
    thread?.join()
    for waiter in state.withLock({ $0.waiters }) { waiter.finish(false) }
  }
}
