/// What came of a load.
struct LoadReport {
  /// Answers of 200 that said what was expected.
  var good = 0
  /// All other answers, by status.
  var others: [Int: Int] = [:]
  /// From the first request to the last answer.
  var seconds = 0.0
  /// From the first byte sent, or due to be sent, to the last byte answered; nanoseconds,
  /// ascending.
  var latencies: [Int64] = []

  /// Adds another load of the same kind.
  mutating func add(_ other: LoadReport) {
    good += other.good
    others.merge(other.others, uniquingKeysWith: +)
    seconds += other.seconds
    latencies = (latencies + other.latencies).sorted()
  }

  /// Good answers a second.
  var rate: Double { seconds > 0 ? Double(good) / seconds : 0 }

  /// The latency that this share of the answers did not exceed, in milliseconds.
  func milliseconds(at share: Double) -> Double {
    guard !latencies.isEmpty else { return 0 }
    let place = min(latencies.count - 1, Int(Double(latencies.count) * share))
    return Double(latencies[place]) / 1e6
  }

  /// All must have been good: a rate of refusals measures nothing.
  func requireAllGood(_ what: String) throws(BenchError) {
    guard others.isEmpty else {
      let counts = others.sorted { $0.key < $1.key }.map { "\($0.value) of \($0.key)" }
      throw .unmeasurable("\(what): other answers than expected: \(counts.joined(separator: ", "))")
    }
  }
}
