import Platform

/// How long a sink waits until it tries again, in milliseconds; the machine varies each a little.
enum RetryDelay {
  /// Until a message is sent again that the receiver has refused so many times, at least once; nil
  /// if it is given up.
  static func afterRefusals(_ count: Int) -> Int64? {
    count <= refused.count ? refused[count - 1] : nil
  }

  /// 75 hours in all, the example of Standard Webhooks ("Deliverability and reliability").
  static let refused: [Int64] = [
    5000, 300_000, 1_800_000, 7_200_000, 18_000_000, 36_000_000, 50_400_000, 72_000_000,
    86_400_000,
  ]

  /// Until a receiver that is down gets the next message to probe it, and until a mirror connects
  /// again.
  static let down = Backoff(first: 1_000, longest: 300_000)
}

/// Steele, Lea, Flood: "Fast splittable pseudorandom number generators" (2014).
struct SplitMix: Sendable, RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }
}
