import Platform
import Synchronization

/// How far something long has come, told a few times a second: on a terminal in one line that
/// changes, elsewhere a line every few seconds.
final class ProgressReporter: Sendable {
  private let what: String
  private let unit: String
  private let began = Clock.monotonicNanoseconds()
  private let last: Mutex<Int64>
  private let interval: Int64

  init(_ what: String, counting unit: String = "events") {
    self.what = what
    self.unit = unit
    last = Mutex(Clock.monotonicNanoseconds())
    interval = ProcessLimits.isTerminal(2) ? 200_000_000 : 5_000_000_000
  }

  /// - Parameter all: how many there are; nil where nobody knows.
  func show(_ done: Int64, of all: Int64?) {
    let now = Clock.monotonicNanoseconds()
    let isDue = last.withLock { last in
      guard now - last >= interval else { return false }
      last = now
      return true
    }
    guard isDue else { return }
    let rate = rate(done, now)
    guard let all else { return Terminal.progress("\(what): \(done) lines, \(rate)/s") }
    let left = rate > 0 ? (all - done) / rate : 0
    Terminal.progress("\(what): \(done) of \(all) \(unit), \(rate)/s, \(left) s left")
  }

  func finish(_ done: Int64) {
    let now = Clock.monotonicNanoseconds()
    Terminal.progress(
      "\(what): \(done) \(unit) in \((now - began) / 1_000_000) ms, \(rate(done, now))/s",
      isLast: true)
  }

  private func rate(_ done: Int64, _ now: Int64) -> Int64 {
    let seconds = Double(max(1, now - began)) / 1e9
    return Int64(Double(done) / seconds)
  }
}
