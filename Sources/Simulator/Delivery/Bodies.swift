import SignedData
import StrictJSON
import Synchronization

/// The signed bodies of a run. Each notification is signed once, when it is first delivered, and
/// its body is released after the last delivery: a retry has the same bytes as the first attempt,
/// and a fleet of any size fits in memory.
final class Bodies: Sendable {
  private struct State {
    /// The number of remaining deliveries of each notification that has more than one.
    var remaining: [Int: Int] = [:]
    /// Bodies between their first and last delivery.
    var retained: [Int: [UInt8]] = [:]
  }

  private let authority: SimulatedAuthority
  private let notifications: [SimulatedNotification]
  private let state: Mutex<State>

  /// Counts the deliveries of each notification.
  init(
    _ authority: SimulatedAuthority, _ notifications: [SimulatedNotification],
    _ deliveries: [Delivery]
  ) {
    self.authority = authority
    self.notifications = notifications
    var counts: [Int: Int] = [:]
    for delivery in deliveries { counts[delivery.notification, default: 0] += 1 }
    // Most are delivered once, and need not be retained.
    state = Mutex(State(remaining: counts.filter { $0.value > 1 }))
  }

  /// The POST body of one notification. Must be called exactly once for each delivery.
  ///
  /// - Throws: `SimulatorError.signing` if OpenSSL cannot sign.
  func body(of index: Int) throws(SimulatorError) -> [UInt8] {
    let retained = state.withLock { $0.retained[index] }
    let body: [UInt8]
    if let retained { body = retained } else { body = try sign(index) }
    return state.withLock { state in
      guard let remaining = state.remaining[index] else { return body }
      // Two threads may have signed the same notification; both then use the first body.
      let first = state.retained[index] ?? body
      state.remaining[index] = remaining - 1
      state.retained[index] = remaining > 1 ? first : nil
      return first
    }
  }

  private func sign(_ index: Int) throws(SimulatorError) -> [UInt8] {
    do {
      return try authority.sign(notification: notifications[index].payload)
    } catch {
      throw .signing(error)
    }
  }
}
