import Platform

/// How far something long has come, told now and then.
struct Progress {
  private let what: String
  private let total: Int
  private let start = Clock.monotonicNanoseconds()
  private var told: Int64

  private static let pause: Int64 = 10_000_000_000

  /// - Parameter what: what was done to so many, such as "notifications signed".
  init(_ what: String, of total: Int) {
    self.what = what
    self.total = total
    told = start
  }

  mutating func show(_ done: Int, _ more: @autoclosure () -> String = "") {
    let now = Clock.monotonicNanoseconds()
    guard now - told > Self.pause || (done == total && told > start) else { return }
    told = now
    let rate = Double(done) * 1e9 / Double(max(1, now - start))
    let all = Decimal.text(Double(total))
    let count = Decimal.text(Double(done))
    Bench.say("\(count) of \(all) \(what), \(Decimal.text(rate)) a second\(more())")
  }
}
