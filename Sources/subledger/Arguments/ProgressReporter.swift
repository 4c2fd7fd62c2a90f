import Platform
import Synchronization

/// Prints the progress of a long command to standard error: on a terminal one line that is updated
/// five times a second, elsewhere a new line every five seconds.
final class ProgressReporter: Sendable {
  private let task: String
  private let unit: String
  private let began = Clock.monotonicNanoseconds()
  /// When a line was last printed, in nanoseconds of the monotonic clock.
  private let last: Mutex<Int64>
  /// Nanoseconds between two lines.
  private let interval: Int64

  init(_ task: String, counting unit: String = "events") {
    self.task = task
    self.unit = unit
    last = Mutex(Clock.monotonicNanoseconds())
    interval = ProcessLimits.isTerminal(2) ? 200_000_000 : 5_000_000_000
  }

  /// Prints the progress unless a line was printed a moment ago.
  ///
  /// - Parameter total: how many there are; nil if that is not known, as of lines on a pipe.
  func show(_ done: Int64, of total: Int64?) {
    show(done) { _, rate in
      guard let total else { return "\(done) lines, \(rate)/s" }
      let left = rate > 0 ? (total - done) / rate : 0
      return "\(done) of \(total) \(unit), \(rate)/s, \(left) s left"
    }
  }

  /// Prints a text unless a line was printed a moment ago.
  ///
  /// - Parameters:
  ///   - done: of which the rate is.
  ///   - text: gets the seconds since the beginning, and the rate in a second.
  func show(_ done: Int64, _ text: (Double, Int64) -> String) {
    let now = Clock.monotonicNanoseconds()
    let isDue = last.withLock { last in
      guard now - last >= interval else { return false }
      last = now
      return true
    }
    guard isDue else { return }
    Terminal.progress("\(task): " + text(Double(now - began) / 1e9, rate(done, now)))
  }

  /// Prints the last line, with time and rate.
  func finish(_ done: Int64) {
    let now = Clock.monotonicNanoseconds()
    Terminal.progress(
      "\(task): \(done) \(unit) in \((now - began) / 1_000_000) ms, \(rate(done, now))/s",
      isLast: true)
  }

  private func rate(_ done: Int64, _ now: Int64) -> Int64 {
    let seconds = Double(max(1, now - began)) / 1e9
    return Int64(Double(done) / seconds)
  }
}
