/// The results of a load.
struct LoadReport {
  /// Answers of 200 with the expected marker.
  var good = 0
  /// All other answers, by status.
  var others: [Int: Int] = [:]
  /// Time from the first request to the last answer.
  var seconds = 0.0
  /// Nanoseconds from when a request was sent, or due, until its answer was complete; ascending.
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
    let index = min(latencies.count - 1, Int(Double(latencies.count) * share))
    return Double(latencies[index]) / 1e6
  }

  /// - Throws: `BenchError.unmeasurable` if any answer was not good: a rate that contains refusals
  ///   has no meaning.
  func requireAllGood(_ what: String) throws(BenchError) {
    guard others.isEmpty else {
      let counts = others.sorted { $0.key < $1.key }.map { "\($0.value) of \($0.key)" }
      throw .unmeasurable("\(what): other answers than expected: \(counts.joined(separator: ", "))")
    }
  }
}
