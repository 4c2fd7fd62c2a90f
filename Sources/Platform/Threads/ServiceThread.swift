import Synchronization

/// The thread of a service: it works when it is woken or when some time is over, until it is
/// stopped.
public final class ServiceThread: Sendable {
  /// Requested by `requestStop`: what waits for something else than `wakeup` ends by it.
  public let cancellation = Cancellation()
  /// Signalled by `wake` and `requestStop`.
  public let wakeup = WakeupEvent()
  private let name: String
  private let niceness: Niceness?
  private let ended = WakeupEvent()
  private let thread = Mutex<Thread?>(nil)

  /// - Parameters:
  ///   - name: as of `Thread.start`.
  ///   - niceness: that the thread gives itself; nil leaves it as it is.
  public init(_ name: String, _ niceness: Niceness? = nil) {
    (self.name, self.niceness) = (name, niceness)
  }

  /// Starts the thread, unless it runs already or is stopped.
  ///
  /// - Parameter body: returns soon after `isStopping` has become true.
  /// - Throws: `LedgerError` if the thread cannot be started.
  public func start(_ body: @escaping @Sendable () -> Void) throws(LedgerError) {
    try thread.withLock { thread throws(LedgerError) in
      guard thread == nil, !isStopping else { return }
      thread = try Thread.start(name) { [niceness, ended] in
        niceness?.apply()
        body()
        ended.signal()
      }
    }
  }

  public var isStopping: Bool { cancellation.isRequested }

  /// What work of this thread asks between its steps.
  public var limit: WorkLimit { WorkLimit(until: cancellation) }

  /// Ends the next or the present `wait`.
  public func wake() { wakeup.signal() }

  /// When a turn of the work is followed by the next one.
  public enum NextTurn: Sendable {
    case atOnce
    /// When the thread is woken, after so many milliseconds at the latest; negative: no limit.
    case whenWoken(within: Int64)
    /// After so many milliseconds, also if the thread is woken before.
    case after(Int64)
  }

  /// Works turn by turn until the thread is stopped. What wakes the thread during a turn gives it
  /// another one.
  public func work(_ turn: () -> NextTurn) {
    while !isStopping {
      wakeup.clear()
      switch turn() {
      case .atOnce: break
      case .whenWoken(let milliseconds): wait(milliseconds: milliseconds)
      case .after(let milliseconds): cancellation.wait(milliseconds: milliseconds)
      }
    }
  }

  /// Waits until the thread is woken or stopped, or the time is over.
  ///
  /// - Parameter milliseconds: a negative value means no limit.
  public func wait(milliseconds: Int64 = -1) {
    // The signal of the stop may have been cleared.
    if !isStopping { wakeup.wait(milliseconds: Int32(clamping: milliseconds)) }
  }

  /// Asks the thread to end, and does not wait for it.
  public func requestStop() {
    cancellation.request()
    wakeup.signal()
  }

  /// Ends the thread.
  ///
  /// - Parameter milliseconds: how long is waited for it, nil: until it has ended. After that it
  ///   ends by itself.
  public func stop(within milliseconds: Int32? = nil) {
    requestStop()
    guard let thread = thread.withLock({ $0.take() }) else { return }
    if let milliseconds { ended.wait(milliseconds: milliseconds) } else { thread.join() }
  }
}
