import SignedData
import StrictJSON
import Synchronization

/// Signs each notification once, as late as possible, and forgets it after its last delivery: a
/// retry has the very bytes of the first attempt, and a fleet of any size fits in memory.
final class Bodies: Sendable {
  private struct State {
    /// Deliveries still to come of each notification that has more than one.
    var waiting: [Int: Int] = [:]
    /// Bodies between their first and last delivery.
    var kept: [Int: [UInt8]] = [:]
  }

  private let authority: SimulatedAuthority
  private let notifications: [SimulatedNotification]
  private let state: Mutex<State>

  /// Counts how often each notification will be asked for.
  init(
    _ authority: SimulatedAuthority, _ notifications: [SimulatedNotification],
    _ deliveries: [Delivery]
  ) {
    self.authority = authority
    self.notifications = notifications
    var waiting: [Int: Int] = [:]
    for delivery in deliveries { waiting[delivery.notification, default: 0] += 1 }
    // Most are delivered once and need no book-keeping.
    state = Mutex(State(waiting: waiting.filter { $0.value > 1 }))
  }

  /// The POST body of one notification; to be asked for once for each delivery.
  func body(of index: Int) throws(SimulatorError) -> [UInt8] {
    let kept = state.withLock { $0.kept[index] }
    let body: [UInt8]
    if let kept { body = kept } else { body = try sign(index) }
    return state.withLock { state in
      guard let waiting = state.waiting[index] else { return body }
      // Two connections may have signed the same one; the first to come here wins.
      let agreed = state.kept[index] ?? body
      state.waiting[index] = waiting - 1
      state.kept[index] = waiting > 1 ? agreed : nil
      return agreed
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
