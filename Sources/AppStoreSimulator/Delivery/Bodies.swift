import SignedData
import Synchronization

/// The signed bodies of a run. Each message is signed once, when it is first delivered, and
/// its body is released after the last delivery: a retry has the same bytes as the first attempt,
/// and a fleet of any size fits in memory.
final class Bodies: Sendable {
  private struct State {
    /// The number of remaining deliveries of each message that has more than one.
    var remaining: [Int: Int] = [:]
    /// Bodies between their first and last delivery.
    var retained: [Int: [UInt8]] = [:]
  }

  private let messages: [SimulatedMessage]
  private let signer: MessageSigner
  private let state: Mutex<State>

  /// Counts the deliveries of each message.
  init(_ messages: [SimulatedMessage], _ signer: MessageSigner, _ deliveries: [Delivery]) {
    self.messages = messages
    self.signer = signer
    var counts: [Int: Int] = [:]
    for delivery in deliveries { counts[delivery.message, default: 0] += 1 }
    // Most are delivered once, and need not be retained.
    state = Mutex(State(remaining: counts.filter { $0.value > 1 }))
  }

  /// The POST body of one message. Must be called exactly once for each delivery.
  ///
  /// - Throws: `SimulatorError.signing` if OpenSSL cannot sign.
  func body(of index: Int) throws(SimulatorError) -> [UInt8] {
    let retained = state.withLock { $0.retained[index] }
    let body: [UInt8]
    if let retained { body = retained } else { body = try sign(index) }
    return state.withLock { state in
      guard let remaining = state.remaining[index] else { return body }
      // Two threads may have signed the same message; both then use the first body.
      let first = state.retained[index] ?? body
      state.remaining[index] = remaining - 1
      state.retained[index] = remaining > 1 ? first : nil
      return first
    }
  }

  private func sign(_ index: Int) throws(SimulatorError) -> [UInt8] {
    do {
      return try signer.body(messages[index])
    } catch {
      throw .signing(error)
    }
  }
}
