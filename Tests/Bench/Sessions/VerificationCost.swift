/// What the three P-256 verifications of a notification cost on one core of this machine, by
/// `openssl speed`: the measure of all processor time.
struct VerificationCost {
  /// Verifications a second of processor time, in each run.
  private(set) var rates: [Double] = []

  /// Processor seconds of three verifications: the mean of the runs.
  var threeSeconds: Double {
    rates.isEmpty ? 0 : rates.reduce(0) { $0 + 3 / $1 } / Double(rates.count)
  }

  /// Measures once more, for three seconds of signing and three of verifying.
  mutating func measure(in run: RunFolder) throws(BenchError) {
    rates.append(try Self.rate(in: run, cores: 1))
  }

  /// Verifications a second that so many cores make together, which share caches and clocks.
  static func rate(in run: RunFolder, cores: Int) throws(BenchError) -> Double {
    let many = cores > 1 ? ["-multi", "\(cores)"] : []
    let speed = try run.run(["openssl", "speed", "-seconds", "3", "-mr"] + many + ["ecdsap256"])
    // With -mr the sums come as "+F4:<number>:<bits>:<signatures/s>:<verifications/s>".
    for line in speed.output.split(separator: "\n") where line.hasPrefix("+F4:") {
      let fields = line.split(separator: ":")
      if fields.count == 5, fields[2] == "256", let rate = Double(fields[4]), rate > 0 {
        return rate
      }
    }
    throw .unmeasurable("openssl speed did not say how many verifications it made")
  }
}
