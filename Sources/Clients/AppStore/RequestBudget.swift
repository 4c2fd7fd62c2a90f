import AppStore
import Synchronization

/// How many requests one app may still send in one environment: a token bucket for each endpoint.
///
/// In any hour, at most the share of Apple's limit is sent. How Apple judges bursts within the hour
/// is not documented, so at most one second's worth goes at once.
final class RequestBudget: Sendable {
  private struct Bucket {
    /// Requests that may be sent at once, when it is full.
    let capacity: Double
    /// Requests that are added in a millisecond.
    let rate: Double
    var available: Double
    var updatedAt: Int64
    /// No request before this time, because Apple said so.
    var blockedUntil = Int64.min

    /// What is available at once counts for the hour too.
    init(hourly: Double, at elapsed: Int64) {
      capacity = max(1, hourly / 3600)
      rate = max(hourly - capacity, 0.1) / 3_600_000
      available = capacity
      updatedAt = elapsed
    }
  }

  private let environment: Environment
  private let share: Double
  private let buckets = Mutex<[Endpoint: Bucket]>([:])

  init(_ environment: Environment, share: Double) {
    self.environment = environment
    self.share = share
  }

  /// Takes one request of the budget.
  ///
  /// - Parameter elapsed: milliseconds of a clock that never goes back.
  /// - Returns: 0 if it was taken; else the milliseconds to wait before the next attempt; nil if
  ///   the environment has no such call.
  func take(_ endpoint: Endpoint, at elapsed: Int64) -> Int64? {
    guard let limit = endpoint.hourlyLimit(in: environment) else { return nil }
    return buckets.withLock { buckets in
      var bucket = buckets[endpoint] ?? Bucket(hourly: Double(limit) * share, at: elapsed)
      defer { buckets[endpoint] = bucket }
      let passed = Double(max(0, elapsed - bucket.updatedAt))
      bucket.available = min(bucket.capacity, bucket.available + passed * bucket.rate)
      bucket.updatedAt = max(elapsed, bucket.updatedAt)
      if elapsed < bucket.blockedUntil { return bucket.blockedUntil - elapsed }
      if bucket.available >= 1 {
        bucket.available -= 1
        return 0
      }
      return Int64(((1 - bucket.available) / bucket.rate).rounded(.up))
    }
  }

  /// Lets no request of an endpoint pass before a time.
  func block(_ endpoint: Endpoint, until elapsed: Int64) {
    buckets.withLock { buckets in
      guard let known = buckets[endpoint]?.blockedUntil else { return }
      buckets[endpoint]?.blockedUntil = max(known, elapsed)
    }
  }
}
