import Platform

/// Deliveries as NDJSON, one POST body a line, as `subledger ingest` reads them.
public enum NotificationLines {
  /// Signs, and writes in chunks of 1 MiB, so that memory does not grow with the file.
  ///
  /// - Parameters:
  ///   - write: receives whole lines.
  ///   - progress: receives the number of written lines, about once a second.
  /// - Returns: the number of lines written, less than the number of deliveries if `shouldStop`
  ///   returned true.
  /// - Throws: `SimulatorError.signing` if OpenSSL cannot sign; what `write` throws.
  public static func write(
    _ deliveries: [Delivery], of messages: [SimulatedMessage], signer: MessageSigner,
    shouldStop: () -> Bool = { false }, progress: (Int) -> Void = { _ in },
    to write: ([UInt8]) throws(SimulatorError) -> Void
  ) throws(SimulatorError) -> Int {
    var bodies = Bodies(messages, signer, deliveries)
    var buffer: [UInt8] = []
    var reported = Clock.monotonicNanoseconds()
    for (count, delivery) in deliveries.enumerated() {
      if shouldStop() { return count }
      buffer += try bodies.body(of: delivery.message)
      buffer.append(0x0A)
      if buffer.count >= 1 << 20 {
        try write(buffer)
        buffer.removeAll(keepingCapacity: true)
      }
      let now = Clock.monotonicNanoseconds()
      if now - reported > 1_000_000_000 {
        reported = now
        progress(count + 1)
      }
    }
    try write(buffer)
    return deliveries.count
  }
}
