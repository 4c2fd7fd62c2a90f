import Platform
import StrictJSON

/// Writes the log lines of refused requests that anyone can send: at most ten a second for each
/// event and status. How many more there were is written as one line.
final class RefusalLog: Sendable {
  private struct Kind: Hashable, Comparable {
    let event: String
    let status: Int

    static func < (one: Kind, other: Kind) -> Bool {
      (one.event, one.status) < (other.event, other.status)
    }
  }

  private static let linesPerSecond = 10

  private let log = BoundedLog<Kind>(
    LineLimit(linesPerSecond: linesPerSecond), .info, sumEvent: "refusals_left_out",
    members: { [("of", .string($0.event)), ("status", .integer(Int64($0.status)))] })

  /// Lines that were not written.
  var leftOut: Counter { log.leftOut }

  /// Writes a line, unless ten of its kind were written within the last second.
  ///
  /// - Parameter fields: evaluated only if the line is written.
  func write(_ event: String, status: Int, _ fields: @autoclosure () -> [(String, JSONValue)]) {
    log.write(Kind(event: event, status: status), event, fields())
  }

  /// Writes the sums of the seconds that have ended. Called about once a second.
  func writeSums() { log.writeSums() }

  /// Writes all sums, at the end.
  func finish() { log.finish() }
}
