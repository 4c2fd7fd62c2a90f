import Platform

/// Reports the progress of a long operation, at most every ten seconds.
struct Progress {
  private let what: String
  private let total: Int
  private let start = Clock.monotonicNanoseconds()
  /// When it was last reported, in monotonic nanoseconds.
  private var reported: Int64

  private static let interval: Int64 = 10_000_000_000

  /// - Parameter what: what is counted, such as "notifications signed".
  init(_ what: String, of total: Int) {
    self.what = what
    self.total = total
    reported = start
  }

  mutating func show(_ done: Int, _ more: @autoclosure () -> String = "") {
    let now = Clock.monotonicNanoseconds()
    guard now - reported > Self.interval || (done == total && reported > start) else { return }
    reported = now
    let rate = Double(done) * 1e9 / Double(max(1, now - start))
    let all = Decimal.text(Double(total))
    let count = Decimal.text(Double(done))
    Bench.log("\(count) of \(all) \(what), \(Decimal.text(rate)) a second\(more())")
  }
}
