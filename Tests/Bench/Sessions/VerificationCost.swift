/// The cost of a notification's three P-256 verifications on one core of this machine, by
/// `openssl speed`. Processor times are compared with it.
struct VerificationCost {
  /// Verifications a second of processor time, in each run.
  private(set) var rates: [Double] = []

  /// Processor seconds of three verifications, the mean of the runs.
  var threeSeconds: Double {
    rates.isEmpty ? 0 : rates.reduce(0) { $0 + 3 / $1 } / Double(rates.count)
  }

  /// Makes another run: three seconds of signing and three of verifying.
  ///
  /// - Throws: `BenchError.unmeasurable` if `openssl speed` fails.
  mutating func measure(in run: RunFolder) throws(BenchError) {
    rates.append(try Self.rate(in: run, cores: 1))
  }

  /// Verifications a second by `cores` cores together, which share caches and clock rates.
  ///
  /// - Throws: `BenchError.unmeasurable` if `openssl speed` fails.
  static func rate(in run: RunFolder, cores: Int) throws(BenchError) -> Double {
    let multi = cores > 1 ? ["-multi", "\(cores)"] : []
    let speed = try run.run(["openssl", "speed", "-seconds", "3", "-mr"] + multi + ["ecdsap256"])
    // With -mr it prints sums as "+F4:<number>:<bits>:<signatures/s>:<verifications/s>".
    for line in speed.output.split(separator: "\n") where line.hasPrefix("+F4:") {
      let fields = line.split(separator: ":")
      if fields.count == 5, fields[2] == "256", let rate = Double(fields[4]), rate > 0 {
        return rate
      }
    }
    throw .unmeasurable("openssl speed printed no rate of verifications")
  }
}
