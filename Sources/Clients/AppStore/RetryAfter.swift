import Platform

/// When the next request may be sent, as the answer to one too many says.
///
/// Apple's `Retry-After` is a time in milliseconds since 1970, not the seconds or the date of RFC
/// 9110 section 10.2.3. All forms are read, because a proxy may answer too. Source:
/// developer.apple.com/documentation/appstoreserverapi/identifying-rate-limits.
enum RetryAfter {
  /// Bounds of the wait in milliseconds, whatever the field says.
  static let bounds: ClosedRange<Int64> = 1_000...3_600_000
  /// The wait for an answer that does not say how long.
  private static let usual = Backoff(first: 60_000, longest: bounds.upperBound)

  /// The milliseconds to wait.
  ///
  /// - Parameters:
  ///   - field: the value of Retry-After; nil if there is none.
  ///   - date: the value of Date: the wait until a time is counted from it, because our clock may
  ///     differ from the server's.
  ///   - now: milliseconds since 1970 by our clock, for an answer without a date.
  ///   - attempt: counts from 1.
  static func milliseconds(
    _ field: String?, date: String?, now: Int64, attempt: Int
  ) -> Int64 {
    let server = date.flatMap(HTTPDate.milliseconds) ?? now
    let wait = field.flatMap { Self.wait($0, from: server) } ?? usual.wait(after: attempt)
    return min(max(wait, bounds.lowerBound), bounds.upperBound)
  }

  /// Nil for a value that is none of the forms.
  private static func wait(_ field: String, from server: Int64) -> Int64? {
    guard field.allSatisfy({ $0.isASCII && $0.isNumber }) else {
      return HTTPDate.milliseconds(field).map { $0 - server }
    }
    guard let number = Int64(field) else { return nil }
    switch number {
    case ..<1_000_000: return number * 1000
    case 1_000_000_000...1_000_000_000_000: return number * 1000 - server
    case 1_000_000_000_001...: return number.subtractingReportingOverflow(server).partialValue
    default: return nil
    }
  }
}
