/// The time by which something must have ended, by the clock that never steps.
public struct Deadline: Sendable, Equatable, Comparable {
  /// Nanoseconds of `Clock.monotonicNanoseconds`.
  public let nanoseconds: Int64

  init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

  /// - Parameter start: nanoseconds of `Clock.monotonicNanoseconds`.
  public init(milliseconds: Int64, after start: Int64 = Clock.monotonicNanoseconds()) {
    let (sum, overflows) = start.addingReportingOverflow(milliseconds * 1_000_000)
    nanoseconds = overflows ? .max : sum
  }

  /// Milliseconds that are left, rounded up; 0 once the deadline has passed.
  public var millisecondsLeft: Int32 {
    let left = nanoseconds - Clock.monotonicNanoseconds()
    return left <= 0 ? 0 : Int32(clamping: (left - 1) / 1_000_000 + 1)
  }

  public var hasPassed: Bool { Clock.monotonicNanoseconds() >= nanoseconds }

  public static func < (one: Deadline, other: Deadline) -> Bool {
    one.nanoseconds < other.nanoseconds
  }
}
