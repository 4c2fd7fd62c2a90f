import Observability
import Platform
import StrictJSON
import Synchronization

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

  private let limit = Mutex(LineLimit<Kind>(linesPerSecond: linesPerSecond))
  /// Lines that were not written.
  let leftOut = Counter()

  /// Writes a line, unless ten of its kind were written within the last second.
  ///
  /// - Parameter fields: evaluated only if the line is written.
  func write(_ event: String, status: Int, _ fields: @autoclosure () -> [(String, JSONValue)]) {
    guard Log.isWritten(.info) else { return }
    let kind = Kind(event: event, status: status)
    let admission = limit.withLock { $0.admit(kind, at: Self.milliseconds()) }
    writeSum(kind, admission.leftOut)
    if admission.isLogged { Log.write(.info, event, fields()) } else { leftOut.add() }
  }

  /// Writes the sums of the seconds that have ended. Called about once a second.
  func writeSums() { writeSums(at: Self.milliseconds()) }

  /// Writes all sums, at the end.
  func finish() { writeSums(at: .max) }

  private func writeSums(at now: Int64) {
    for sum in limit.withLock({ $0.takeLeftOut(at: now) }) { writeSum(sum.kind, sum.count) }
  }

  private func writeSum(_ kind: Kind, _ count: Int64) {
    guard count > 0 else { return }
    Log.write(
      .info, "refusals_left_out",
      [
        ("of", .string(kind.event)), ("status", .integer(Int64(kind.status))),
        ("count", .integer(count)),
      ])
  }

  private static func milliseconds() -> Int64 { Clock.monotonicNanoseconds() / 1_000_000 }
}
