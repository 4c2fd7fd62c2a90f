import HTTPServer
import Platform
import Synchronization

/// The thread that sends notifications when they are due by the simulated clock, one after the
/// other, and records how each attempt ended.
final class NotificationSender: Sendable {
  /// Advances the clock, sends what is then due, and calls `done`.
  private struct Advance: Sendable {
    let milliseconds: Int64
    let done: @Sendable () -> Void
  }

  private let orders = BoundedQueue<Advance>(capacity: 64)
  private let thread: Mutex<Thread?> = Mutex(nil)

  /// How long a notification may be due before it is noticed, in milliseconds.
  private static let interval: Int32 = 50

  /// - Parameter address: where to send; nil if every attempt is to succeed without being made.
  /// - Throws: `LedgerError.system` when the kernel refuses the thread.
  init(_ state: StandInStore, _ address: ServiceAddress?) throws(LedgerError) {
    let orders = orders
    let started = try Thread.start("app-store") {
      let connection = address.map { ServiceConnection($0) }
      while let next = orders.dequeueAll(within: Self.interval) {
        Self.sendDue(state, connection, orders)
        for order in next {
          state.withLock { $0.advance(order.milliseconds) }
          Self.sendDue(state, connection, orders)
          order.done()
        }
      }
    }
    thread.withLock { $0 = started }
  }

  /// Calls `done` on the sending thread once all that is due then has been sent.
  ///
  /// - Returns: false if too many orders wait.
  func advance(_ milliseconds: Int64, done: @escaping @Sendable () -> Void) -> Bool {
    orders.enqueue(Advance(milliseconds: milliseconds, done: done))
  }

  func stop() {
    orders.close()
    thread.withLock { $0 }?.join()
  }

  private static func sendDue(
    _ state: StandInStore, _ connection: ServiceConnection?, _ orders: BoundedQueue<Advance>
  ) {
    while !orders.isClosed, let due = state.withLock({ $0.takeDue() }) {
      let result = due.outage ?? send(due.body, connection)
      state.withLock { $0.record(due, result) }
    }
  }

  /// Apple's sendAttemptResult; 200 to 206 count as success.
  private static func send(_ body: [UInt8], _ connection: ServiceConnection?) -> String {
    guard let connection else { return SendAttempt.success }
    do throws(ServiceConnection.Failure) {
      let status = try connection.post(body).status
      return 200...206 ~= status ? SendAttempt.success : "UNSUCCESSFUL_HTTP_RESPONSE_CODE"
    } catch {
      switch error {
      case .unreachable: return "NO_RESPONSE"
      case .broken: return "PREMATURE_CLOSE"
      }
    }
  }
}

/// The state under its lock.
final class StandInStore: Sendable {
  private let state: Mutex<StandInState>

  init(_ state: StandInState) { self.state = Mutex(state) }

  func withLock<Result>(_ body: (inout StandInState) -> sending Result) -> sending Result {
    state.withLock { body(&$0) }
  }
}
