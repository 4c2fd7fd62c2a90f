import Platform

/// How often a call is repeated, and after which wait.
public struct RetryPolicy: Sendable {
  /// Requests of one call at most.
  let attempts: Int
  /// Milliseconds of one wait at most. An answer that asks for more ends the call.
  let longestWait: Int64

  /// For work that nobody waits for.
  public static let background = RetryPolicy(attempts: 6, longestWait: 3_600_000)
  /// For a person at a terminal.
  public static let interactive = RetryPolicy(attempts: 3, longestWait: 10_000)
  /// For a caller that repeats the call itself, after the wait that the error names.
  public static let once = RetryPolicy(attempts: 1, longestWait: 0)

  /// The waits that are chosen here.
  private static let backoff = Backoff(first: 1_000, longest: 300_000)

  /// The milliseconds to wait before the next attempt; nil if there must be none.
  ///
  /// - Parameters:
  ///   - attempt: the number of the attempt that failed, from 1.
  ///   - jitter: from 0 to 1.
  func wait(after error: AppStoreError, attempt: Int, jitter: Double) -> Int64? {
    guard error.isRetryable, attempt < min(attempts, error.mostAttempts) else { return nil }
    if case .limited(let milliseconds) = error.reason {
      return milliseconds <= longestWait ? milliseconds : nil
    }
    guard error.endpoint.isIdempotent else { return nil }
    let full = Self.backoff.wait(after: attempt)
    return min(longestWait, full / 2 + Int64(Double(full / 2) * min(max(jitter, 0), 1)))
  }
}
