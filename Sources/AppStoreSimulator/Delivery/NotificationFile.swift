import Platform

/// Writes deliveries as NDJSON, one POST body a line, as `subledger ingest` reads them.
public enum NotificationFile {
  /// Writes to standard output if `path` is `-`, else to a file beside `path`, which is renamed
  /// when all is written: there is never half a file under that name.
  ///
  /// - Returns: the number of lines written. If the run was stopped it is less than the number of
  ///   deliveries, and no file is left.
  /// - Throws: `SimulatorError.exists` if the file exists and may not be replaced; `.file` if it
  ///   cannot be written; `.signing` if OpenSSL cannot sign.
  public static func write(
    _ deliveries: [Delivery], of messages: [SimulatedMessage], signer: MessageSigner,
    to path: String, replacing: Bool = false,
    shouldStop: () -> Bool = { false }, progress: (Int) -> Void = { _ in }
  ) throws(SimulatorError) -> Int {
    if path == "-" {
      return try stream(
        deliveries, Bodies(messages, signer, deliveries), .standardOutput,
        shouldStop, progress)
    }
    if !replacing && OutputFile.exists(path) { throw .exists(path: path) }
    let partial = path + ".partial"
    let output = try OutputFile.create(partial, replacing: true)
    do {
      let count = try stream(
        deliveries, Bodies(messages, signer, deliveries), output, shouldStop, progress)
      guard count == deliveries.count else {
        OutputFile.remove(partial)
        return count
      }
      try OutputFile.rename(partial, to: path)
      return count
    } catch {
      OutputFile.remove(partial)
      throw error
    }
  }

  /// Signs and writes in chunks of 1 MiB, so that memory does not grow with the file.
  private static func stream(
    _ deliveries: [Delivery], _ bodies: Bodies, _ output: OutputFile, _ shouldStop: () -> Bool,
    _ progress: (Int) -> Void
  ) throws(SimulatorError) -> Int {
    var buffer: [UInt8] = []
    var reported = Clock.monotonicNanoseconds()
    for (count, delivery) in deliveries.enumerated() {
      if shouldStop() { return count }
      buffer += try bodies.body(of: delivery.message)
      buffer.append(0x0A)
      if buffer.count >= 1 << 20 {
        try output.write(buffer)
        buffer.removeAll(keepingCapacity: true)
      }
      let now = Clock.monotonicNanoseconds()
      if now - reported > 1_000_000_000 {
        reported = now
        progress(count + 1)
      }
    }
    try output.write(buffer)
    return deliveries.count
  }
}
