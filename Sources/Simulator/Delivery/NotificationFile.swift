import Platform

/// Writes deliveries as NDJSON: one POST body a line, as `subledger ingest` reads them.
public enum NotificationFile {
  /// Writes to standard output for `-`, else beside `path` and renames when all is written: there
  /// is never half a file under that name.
  ///
  /// - Returns: how many lines were written; fewer than there are deliveries when stopped, and then
  ///   no file is left.
  public static func write(
    _ deliveries: [Delivery], of notifications: [SimulatedNotification],
    authority: SimulatedAuthority, to path: String, replacing: Bool = false,
    shouldStop: () -> Bool = { false }, progress: (Int) -> Void = { _ in }
  ) throws(SimulatorError) -> Int {
    if path == "-" {
      return try stream(
        deliveries, Bodies(authority, notifications, deliveries), .standardOutput,
        shouldStop, progress)
    }
    if !replacing && OutputFile.exists(path) { throw .exists(path: path) }
    let partial = path + ".partial"
    let output = try OutputFile.create(partial, replacing: true)
    do {
      let count = try stream(
        deliveries, Bodies(authority, notifications, deliveries), output, shouldStop, progress)
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

  /// Signs and writes piece by piece: memory does not grow with the file.
  private static func stream(
    _ deliveries: [Delivery], _ bodies: Bodies, _ output: OutputFile, _ shouldStop: () -> Bool,
    _ progress: (Int) -> Void
  ) throws(SimulatorError) -> Int {
    var buffer: [UInt8] = []
    var reported = Clock.monotonicNanoseconds()
    for (count, delivery) in deliveries.enumerated() {
      if shouldStop() { return count }
      buffer += try bodies.body(of: delivery.notification)
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
