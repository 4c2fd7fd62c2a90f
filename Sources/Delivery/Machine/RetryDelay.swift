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

  /// Until a receiver that is down gets the next message to probe it: a second, then twice as long
  /// each time, at most five minutes.
  static func afterProbes(_ count: Int) -> Int64 { min(300_000, 1000 << Int64(min(count, 20))) }
}
