import AppStoreSimulator
import Platform
import StrictJSON

/// Signs notifications into a file before anything is measured.
enum Signing {
  /// How many notifications are signed before they are written.
  private static let chunkSize = 4_096

  /// Writes a heading, then one body a line in the given order. The file exists only when it is
  /// complete.
  ///
  /// - Throws: `BenchError.unmeasurable` if signing or writing fails.
  static func write(
    _ notifications: [JSONValue], heading: JSONValue, _ authority: SimulatedAuthority,
    to path: String
  ) throws(BenchError) {
    var progress = Progress("notifications signed", of: notifications.count)
    do throws(LedgerError) {
      let file = try AtomicFileWriter(path)
      try file.write(heading.text + "\n")
      for start in stride(from: 0, to: notifications.count, by: chunkSize) {
        let end = min(start + chunkSize, notifications.count)
        for body in try sign(notifications[start..<end], authority) {
          try file.write(body)
          try file.write("\n")
        }
        progress.show(end)
      }
      // Also syncs it, so that the kernel does not write it during the measurements.
      try file.finish()
    } catch {
      throw .unmeasurable("could not sign into \(path): \(error)")
    }
  }

  /// Signs on all processors.
  private static func sign(
    _ notifications: ArraySlice<JSONValue>, _ authority: SimulatedAuthority
  ) throws(LedgerError) -> [[UInt8]] {
    let parts = ProcessLimits.processors
    let results = BoundedQueue<(part: Int, bodies: [[UInt8]])>(capacity: parts)
    for part in 0..<parts {
      let first = notifications.startIndex + notifications.count * part / parts
      let end = notifications.startIndex + notifications.count * (part + 1) / parts
      _ = try Thread.start("sign-\(part)") {
        let bodies = notifications[first..<end].compactMap { notification in
          try? authority.sign(notification: notification)
        }
        _ = results.enqueue((part, bodies))
      }
    }
    var signed = [[[UInt8]]](repeating: [], count: parts)
    var remaining = parts
    while remaining > 0, let arrived = results.dequeueAll() {
      for result in arrived { signed[result.part] = result.bodies }
      remaining -= arrived.count
    }
    let bodies = signed.flatMap { $0 }
    guard bodies.count == notifications.count else { throw .system("sign", 0) }
    return bodies
  }
}
