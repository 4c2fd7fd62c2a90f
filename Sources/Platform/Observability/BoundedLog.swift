public import StrictJSON
import Synchronization

/// Log lines that may come without end: so many of each kind are written in a time, and how many
/// more there were is written as one line.
public final class BoundedLog<Kind: Hashable & Comparable & Sendable>: Sendable {
  private let limit: Mutex<LineLimit<Kind>>
  private let level: Log.Level
  private let sumEvent: String
  private let members: @Sendable (Kind) -> [(String, JSONValue)]
  /// Lines that were not written.
  public let leftOut = Counter()

  /// - Parameters:
  ///   - level: of all lines.
  ///   - sumEvent: the name of the line that says how many were left out.
  ///   - members: what that line says of a kind.
  public init(
    _ limit: LineLimit<Kind>, _ level: Log.Level, sumEvent: String,
    members: @escaping @Sendable (Kind) -> [(String, JSONValue)]
  ) {
    self.limit = Mutex(limit)
    (self.level, self.sumEvent, self.members) = (level, sumEvent, members)
  }

  /// Writes a line, unless there were too many of its kind.
  ///
  /// - Parameter fields: evaluated only if the line is written.
  public func write(
    _ kind: Kind, _ event: String, _ fields: @autoclosure () -> [(String, JSONValue)]
  ) {
    guard Log.isWritten(level) else { return }
    let admission = limit.withLock { $0.admit(kind, at: Self.milliseconds()) }
    writeSum(kind, admission.leftOut)
    if admission.isLogged { Log.write(level, event, fields()) } else { leftOut.add() }
  }

  /// Writes the sums of the times that have ended. Called about once a second.
  public func writeSums() { writeSums(at: Self.milliseconds()) }

  /// Writes all sums, at the end.
  public func finish() { writeSums(at: .max) }

  private func writeSums(at now: Int64) {
    for sum in limit.withLock({ $0.takeLeftOut(at: now) }) { writeSum(sum.kind, sum.count) }
  }

  private func writeSum(_ kind: Kind, _ count: Int64) {
    guard count > 0 else { return }
    Log.write(level, sumEvent, members(kind) + [("count", .integer(count))])
  }

  private static func milliseconds() -> Int64 { Clock.monotonicNanoseconds() / 1_000_000 }
}
