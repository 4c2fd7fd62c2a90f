import Clients
import Platform
import Synchronization

/// The state under its lock, and the thread that sends notifications when they are due by the
/// simulated clock, one after the other, and records how each attempt ended.
final class SharedState: Sendable {
  /// Advances the clock, sends what is then due, and calls `done`.
  private struct Advance: Sendable {
    let milliseconds: Int64
    let done: @Sendable () -> Void
  }

  private let state: Mutex<AppStoreState>
  private let orders = BoundedQueue<Advance>(capacity: 64)
  private let thread: Mutex<Thread?> = Mutex(nil)

  /// How long a notification may be due before it is noticed, in milliseconds.
  private static let interval: Int32 = 50

  /// - Parameter address: where to send; nil if every attempt is to succeed without being made.
  /// - Throws: `SimulatorError.platform` when the kernel refuses the thread.
  init(_ state: AppStoreState, sendingTo address: ServiceURL?) throws(SimulatorError) {
    self.state = Mutex(state)
    let started = try mapError(
      SimulatorError.platform, try Thread.start("app-store") { self.send(to: address) })
    thread.withLock { $0 = started }
  }

  func withLock<Result>(_ body: (inout AppStoreState) -> sending Result) -> sending Result {
    state.withLock { body(&$0) }
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

  /// The body of the thread.
  private func send(to address: ServiceURL?) {
    let client = address.flatMap { _ in try? HTTPClient.simulated(connections: 1) }
    while let next = orders.dequeueAll(within: Self.interval) {
      sendDue(client, address)
      for order in next {
        withLock { $0.advance(order.milliseconds) }
        sendDue(client, address)
        order.done()
      }
    }
  }

  private func sendDue(_ client: HTTPClient?, _ address: ServiceURL?) {
    while !orders.isClosed, let due = withLock({ $0.takeDue() }) {
      let result = due.outage ?? Self.send(due.body, client, address)
      withLock { $0.record(due, result) }
    }
  }

  /// Apple's sendAttemptResult; 200 to 206 count as success.
  private static func send(
    _ body: [UInt8], _ client: HTTPClient?, _ address: ServiceURL?
  ) -> String {
    guard let client, let address else { return SendAttempt.success }
    do throws(ClientError) {
      let status = try client.send(.simulated(body, to: address)).status
      return 200...206 ~= status ? SendAttempt.success : "UNSUCCESSFUL_HTTP_RESPONSE_CODE"
    } catch {
      switch error {
      case .resolve, .connect, .timeout(.resolve), .timeout(.connect): return "NO_RESPONSE"
      default: return "PREMATURE_CLOSE"
      }
    }
  }
}
