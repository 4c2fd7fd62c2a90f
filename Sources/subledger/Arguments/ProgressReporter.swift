import Platform
import Synchronization

/// Prints the progress of a long command to standard error: on a terminal one line that is updated
/// five times a second and erased before the next output, elsewhere a line every five seconds.
final class ProgressReporter: Sendable {
  private let task: String
  private let unit: String
  private let began = Clock.monotonicNanoseconds()
  /// When a line was last printed, in nanoseconds of the monotonic clock.
  private let last: Mutex<Int64>
  private let isTerminal = ProcessLimits.isTerminal(2)
  /// Nanoseconds between two lines.
  private let interval: Int64

  /// - Parameter unit: the plural of what is counted.
  init(_ task: String, counting unit: String = "events") {
    self.task = task
    self.unit = unit
    last = Mutex(Clock.monotonicNanoseconds())
    interval = isTerminal ? 200_000_000 : 5_000_000_000
  }

  /// Prints the progress unless a line was printed a moment ago.
  ///
  /// - Parameter total: how many there are.
  func show(_ done: Int64, of total: Int64) {
    show(done) { _, rate in
      let bar = isTerminal && total > 0 ? bar(Double(done) / Double(total)) : ""
      let text = "\(bar)\(done) of \(total) \(unit)"
      guard let rate, rate > 0 else { return text }
      return text + ", \(rate)/s, \((total - done) / rate) s left"
    }
  }

  /// Prints the progress unless a line was printed a moment ago.
  ///
  /// - Parameter share: how much is done, from 0 to 1; nil if that is not known.
  func show(_ done: Int64, share: Double?) {
    show(done) { _, rate in
      (share.map(bar) ?? "") + "\(done) \(unit)" + (rate.map { ", \($0)/s" } ?? "")
    }
  }

  /// Prints a text unless a line was printed a moment ago.
  ///
  /// - Parameters:
  ///   - done: of which the rate is.
  ///   - text: gets the seconds since the beginning, and the rate in a second, which is nil until a
  ///     second has passed.
  func show(_ done: Int64, _ text: (Double, Int64?) -> String) {
    let now = Clock.monotonicNanoseconds()
    let isDue = last.withLock { last in
      guard now - last >= interval else { return false }
      last = now
      return true
    }
    guard isDue else { return }
    Terminal.progress("\(task): " + text(Double(now - began) / 1e9, rate(done, now)))
  }

  /// Prints how many there were and the time they took.
  func finish(_ done: Int64) {
    let now = Clock.monotonicNanoseconds()
    let rate = rate(done, now).map { ", \($0)/s" } ?? ""
    Terminal.error(
      "\(task): \(CountText.of(done, unit)) in \(DurationText.text((now - began) / 1_000_000))"
        + rate)
  }

  /// A percentage, on a terminal after a bar.
  private func bar(_ share: Double) -> String {
    let percentage = "\(Int(share * 100)) %, "
    guard isTerminal else { return percentage }
    let filled = Int(share * Double(Self.barWidth))
    return "[" + String(repeating: "#", count: filled)
      + String(repeating: ".", count: Self.barWidth - filled) + "] " + percentage
  }

  private static let barWidth = 20

  private func rate(_ done: Int64, _ now: Int64) -> Int64? {
    let seconds = Double(now - began) / 1e9
    return seconds < 1 ? nil : Int64(Double(done) / seconds)
  }
}

extension Interruption {
  /// Waits for signals from now on, each of which erases the line of the progress.
  ///
  /// - Parameter cancellation: is requested at the first signal too.
  static func started(_ cancellation: Cancellation? = nil) -> Interruption {
    let interruption = Interruption()
    interruption.start(cancellation) { Terminal.clearLine() }
    return interruption
  }
}
