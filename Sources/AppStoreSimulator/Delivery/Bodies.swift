import Platform

/// The signed bodies of a run. Each message is signed once, when it is first delivered, and
/// its body is released after the last delivery: a retry has the same bytes as the first attempt,
/// and a fleet of any size fits in memory.
struct Bodies {
  private let messages: [SimulatedMessage]
  private let signer: MessageSigner
  /// The number of remaining deliveries of each message that has more than one.
  private var remaining: [Int: Int] = [:]
  /// Bodies between their first and last delivery.
  private var retained: [Int: [UInt8]] = [:]

  /// Counts the deliveries of each message.
  init(_ messages: [SimulatedMessage], _ signer: MessageSigner, _ deliveries: [Delivery]) {
    (self.messages, self.signer) = (messages, signer)
    for delivery in deliveries { remaining[delivery.message, default: 0] += 1 }
    // Most are delivered once, and need not be retained.
    remaining = remaining.filter { $0.value > 1 }
  }

  /// The POST body of one message. Must be called exactly once for each delivery.
  ///
  /// - Throws: `SimulatorError.signing` if OpenSSL cannot sign.
  mutating func body(of index: Int) throws(SimulatorError) -> [UInt8] {
    let body: [UInt8]
    if let known = retained[index] {
      body = known
    } else {
      body = try mapError(SimulatorError.signing, try signer.body(messages[index]))
    }
    if let count = remaining[index] {
      remaining[index] = count - 1
      retained[index] = count > 1 ? body : nil
    }
    return body
  }
}
