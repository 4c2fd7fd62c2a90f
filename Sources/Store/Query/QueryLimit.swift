import CSQLite
public import Platform
import Synchronization

/// Stops a query that takes too long, or that the user interrupts. Use one per query.
///
/// A thread looks at the clock and interrupts SQLite (sqlite.org/c3ref/interrupt.html). All time
/// counts from the moment the limit is made: opening the files, waiting for a lock, the reader of
/// the output. For as long as a query runs, the write-ahead log cannot be shortened.
///
/// SQLite notices the interruption between two instructions, and one may take hours: a pattern of
/// LIKE on a long text, or the output blocks. Then `onOverrun` is called, which can only end the
/// process.
public final class QueryLimit: Sendable {
  /// The time that the query may take.
  let seconds: Int64
  private let deadline: Deadline
  private let isInterrupted: @Sendable () -> Bool
  private let onOverrun: @Sendable (LedgerError) -> Void
  private let state = Mutex(State())
  private let ended = Cancellation()

  private struct State {
    var thread: Thread?
    /// The address of the connection that is interrupted; 0 for none.
    var handle: UInt = 0
    var reason: LedgerError?
  }

  /// Milliseconds between two looks at the clock.
  private static let interval: Int64 = 20
  /// Milliseconds from the first interruption that are left for the query to end.
  private static let grace: Int64 = 1_000

  /// - Parameters:
  ///   - isInterrupted: whether the user wants it to end; called on another thread.
  ///   - onOverrun: called on another thread, once, if the query has not ended one second after its
  ///     time was over.
  public init(
    seconds: Int64, isInterrupted: @escaping @Sendable () -> Bool = { false },
    onOverrun: @escaping @Sendable (LedgerError) -> Void = { _ in }
  ) {
    self.seconds = seconds
    deadline = Deadline(milliseconds: seconds * 1_000)
    (self.isInterrupted, self.onOverrun) = (isInterrupted, onOverrun)
  }

  /// Why the query was stopped; nil if it was not.
  var reason: LedgerError? { state.withLock { $0.reason } }

  /// Starts the thread, unless it runs.
  ///
  /// - Throws: `LedgerError.system` if the kernel refuses another thread.
  public func start() throws(LedgerError) {
    guard state.withLock({ $0.thread == nil }) else { return }
    let thread = try Thread.start("query limit") { [self] in watch() }
    state.withLock { $0.thread = thread }
  }

  /// Ends the thread: nothing is interrupted afterwards.
  public func end() {
    ended.request()
    state.withLock { $0.thread }?.join()
  }

  /// Makes the limit hold for what runs on this connection, which must exist until `end`.
  func attach(to handle: OpaquePointer) {
    let address = UInt(bitPattern: handle)
    state.withLock { $0.handle = address }
  }

  private func watch() {
    let last = Deadline(milliseconds: Self.grace, after: deadline.nanoseconds)
    var isReported = false
    while !ended.isRequested {
      ended.wait(milliseconds: Self.interval)
      guard stop() else { continue }
      if last.hasPassed, !isReported, let reason {
        isReported = true
        onOverrun(reason)
      }
    }
  }

  /// Interrupts the query if it is to end. Again and again: SQLite forgets an interruption that
  /// comes before the first step.
  ///
  /// - Returns: whether it is to end.
  private func stop() -> Bool {
    let isInterrupted = isInterrupted()
    return state.withLock { state in
      if state.reason == nil, isInterrupted { state.reason = .stopped }
      if state.reason == nil, deadline.hasPassed { state.reason = .timeLimit(seconds: seconds) }
      guard state.reason != nil else { return false }
      if let handle = OpaquePointer(bitPattern: state.handle) { sqlite3_interrupt(handle) }
      return true
    }
  }
}
