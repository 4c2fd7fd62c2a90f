import Ledger
import Platform
import Store
import Synchronization

/// Reads that wait until the rows have an event, or all that a shared journal had when they came.
///
/// A read that waits holds no thread: it is a place in a list, which the writer's commits wake.
final class ReadBarrier: Sendable {
  /// The longest wait, milliseconds; after it the answer is 503.
  private static let milliseconds: Int64 = 2_000
  /// Reads that may wait, in all and of one token.
  private static let (capacity, share) = (1_000, 250)

  /// A read that waits. Its closure is called once, with false if the wait was too long.
  private final class Waiter: Sendable {
    /// The event that it waits for; nil if it waits for something else.
    let seq: Int64?
    /// The name of the token that it is for.
    let owner: String
    let deadline: Deadline
    private let proceed: Mutex<(@Sendable (Bool) -> Void)?>

    init(
      _ seq: Int64?, of owner: String, _ deadline: Deadline,
      _ proceed: @escaping @Sendable (Bool) -> Void
    ) {
      (self.seq, self.owner, self.deadline) = (seq, owner, deadline)
      self.proceed = Mutex(proceed)
    }

    var isOver: Bool { proceed.withLock { $0 == nil } }

    func finish(_ isReached: Bool) { proceed.withLock { $0.take() }?(isReached) }
  }

  private let ledger: Ledger
  private let thread = ServiceThread("reads", .reactor)
  private let waiters = Mutex<[Waiter]>([])

  init(_ ledger: Ledger) {
    self.ledger = ledger
    ledger.onCommit { [thread] in thread.wake() }
  }

  /// Starts the thread.
  ///
  /// - Throws: `LedgerError` when the kernel refuses it.
  func start() throws(LedgerError) { try thread.start { [self] in run() } }

  /// The end of the longest wait of a read that comes now.
  static var deadline: Deadline { Deadline(milliseconds: milliseconds) }

  /// Calls a closure once the rows have the event at `seq`.
  ///
  /// - Parameter owner: the name of the token that waits.
  /// - Returns: false if too many wait.
  func wait(
    forSeq seq: Int64, of owner: String, until deadline: Deadline,
    _ proceed: @escaping @Sendable (Bool) -> Void
  ) -> Bool {
    add(Waiter(seq, of: owner, deadline, proceed))
  }

  /// Calls a closure once the rows have all that the shared journal has now.
  ///
  /// - Returns: false if too many wait.
  func waitUntilFresh(
    of owner: String, _ proceed: @escaping @Sendable (Bool) -> Void
  ) -> Bool {
    let waiter = Waiter(nil, of: owner, Self.deadline, proceed)
    guard add(waiter) else { return false }
    ledger.refresh { waiter.finish($0) }
    return true
  }

  private func add(_ waiter: Waiter) -> Bool {
    let isAdded = waiters.withLock { waiters in
      guard !thread.isStopping, waiters.count < Self.capacity,
        waiters.count(where: { $0.owner == waiter.owner && !$0.isOver }) < Self.share
      else { return false }
      waiters.append(waiter)
      return true
    }
    if isAdded { thread.wake() }
    return isAdded
  }

  private func run() {
    thread.work {
      let seq = ledger.foldedHead.seq
      for waiter in waiters.withLock({ $0 }) {
        if let wanted = waiter.seq, wanted <= seq { waiter.finish(true) }
        if waiter.deadline.hasPassed { waiter.finish(false) }
      }
      let next = waiters.withLock { waiters in
        waiters.removeAll { $0.isOver }
        return waiters.map(\.deadline).min()
      }
      guard ledger.foldedHead.seq == seq else { return .atOnce }
      return .whenWoken(within: next.map { Int64($0.millisecondsLeft) + 1 } ?? -1)
    }
  }

  /// Answers what waits, and ends the thread.
  func stop() {
    thread.stop()
    for waiter in waiters.withLock({ $0 }) { waiter.finish(false) }
  }
}
