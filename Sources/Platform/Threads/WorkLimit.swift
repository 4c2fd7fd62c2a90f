/// What work that may be long asks between its steps: whether it may go on. One for each thread.
public final class WorkLimit {
  /// When the work has used its processor time, nanoseconds of the calling thread's.
  private var end = Int64.max
  private let stopping: Cancellation

  /// - Parameter stopping: ends the work of all threads that share it.
  public init(until stopping: Cancellation) { self.stopping = stopping }

  /// Begins a piece of work of the calling thread.
  ///
  /// - Parameter milliseconds: of processor time that it may use, whatever else the machine does.
  public func begin(milliseconds: Int64) {
    end = Clock.threadNanoseconds() + milliseconds * 1_000_000
  }

  /// Why the work must end; nil: it may go on. Takes less than a microsecond.
  public var reason: LedgerError? {
    stopping.isRequested ? .stopped : Clock.threadNanoseconds() > end ? .tooLong : nil
  }

  /// - Throws: `reason`.
  public func check() throws(LedgerError) {
    if let reason { throw reason }
  }
}

extension LedgerError.Code {
  /// It used more processor time than it may.
  public static let tooLong = Self("too_long")
}

extension LedgerError {
  public static let tooLong = LedgerError(
    .tooLong, .temporary, "it used more processor time than it may", next: "ask for less at once")
}
