import Entitlements
import Platform

/// A type of notification that used to come every day, and stopped while others go on.
///
/// It came on 12 of the 14 days before, and is silent for more than 48 hours and more than three
/// times its longest pause of these days. The longest time in which nothing at all came is not
/// counted: that is the silence of the app, or of its nights. A type that comes at random is found
/// though it did not stop once in eight years if it comes once or twice a day, once in twenty if
/// three times, and never in two hundred simulated years if ten times.
struct TypeSilence: Equatable {
  /// When the last one came, in milliseconds since 1970 UTC.
  let since: Int64
  /// On how many of the 14 days before that it came.
  let days: Int
  /// The longest pause within them, in milliseconds.
  let longestPause: Int64

  static let comparedDays = 14
  private static let leastDays = 12
  private static let leastSilence = 48 * CivilTime.hour
  private static let factor: Int64 = 3

  /// - Parameters:
  ///   - times: from when to when notifications of the type came within an hour, in their order;
  ///     milliseconds since 1970 UTC.
  ///   - all: the same of all types of the app.
  /// - Returns: nil if the type did not stop, or did not come every day before.
  init?(_ times: [ClosedRange<Int64>], among all: [ClosedRange<Int64>]) {
    guard let last = times.map(\.upperBound).max(), let newest = all.map(\.upperBound).max() else {
      return nil
    }
    let start = last.subtracting(orBoundBy: Int64(Self.comparedDays) * CivilTime.day)
    let compared = times.filter { $0.upperBound > start }
    let days = Set(
      compared.flatMap { [$0.lowerBound, $0.upperBound] }.filter { $0 > start }
        .map { (last - $0) / CivilTime.day })
    let longest = Self.longestPause(compared)
    let others = all.filter { $0.upperBound > last }
    let elapsed = max(0, newest.subtracting(orBoundBy: last))
    let silence = elapsed - Self.longestPause([last...last] + others)
    guard days.count >= Self.leastDays, silence > Self.leastSilence,
      silence / Self.factor > longest
    else { return nil }
    (since, self.days, longestPause) = (last, days.count, longest)
  }

  private static func longestPause(_ times: [ClosedRange<Int64>]) -> Int64 {
    var longest: Int64 = 0
    for (time, next) in zip(times, times.dropFirst()) {
      longest = max(longest, next.lowerBound.subtracting(orBoundBy: time.upperBound))
    }
    return longest
  }
}
