import CSQLite
import Platform

/// Stops a query that runs too long, or that the user interrupts. Use one per query.
///
/// Only the time that SQLite computes counts, not the time in which the rows are written: a reader
/// of the output may pause.
public final class QueryLimit {
  /// The time that the query may run.
  public let seconds: Int64
  private let isInterrupted: () -> Bool
  private var nanosecondsLeft: Int64
  /// When the current step of the statement began, by the monotonic clock.
  private var stepBegan: Int64 = 0
  /// Why the query was stopped; nil if it was not.
  private(set) var reason: QueryError?

  /// SQLite's virtual machine runs this many instructions between two looks at the clock: about
  /// 0.1 ms.
  private static let instructions: Int32 = 10_000

  public init(seconds: Int64, isInterrupted: @escaping () -> Bool = { false }) {
    self.seconds = seconds
    self.isInterrupted = isInterrupted
    nanosecondsLeft = seconds * 1_000_000_000
  }

  /// Runs `step` and counts its time.
  func measure(_ step: () -> Int32) -> Int32 {
    stepBegan = Clock.monotonicNanoseconds()
    if shouldStop() { return SQLITE_INTERRUPT }
    let code = step()
    nanosecondsLeft -= Clock.monotonicNanoseconds() - stepBegan
    return code
  }

  /// Makes SQLite ask this limit while a statement of the connection runs. The limit must exist
  /// until `detach`.
  func attach(to handle: OpaquePointer) {
    sqlite3_progress_handler(
      handle, Self.instructions,
      { context in
        guard let context else { return 0 }
        return Unmanaged<QueryLimit>.fromOpaque(context).takeUnretainedValue().shouldStop() ? 1 : 0
      }, Unmanaged.passUnretained(self).toOpaque())
  }

  func detach(from handle: OpaquePointer) { sqlite3_progress_handler(handle, 0, nil, nil) }

  private func shouldStop() -> Bool {
    if isInterrupted() {
      reason = .interrupted
    } else if Clock.monotonicNanoseconds() - stepBegan > nanosecondsLeft {
      reason = .timeLimit(seconds: seconds)
    }
    return reason != nil
  }
}
