/// How long is waited after errors in a row: twice as long after each, up to a bound.
public struct Backoff: Sendable {
  private let first: Int64
  private let longest: Int64

  /// - Parameters:
  ///   - first: milliseconds after the first error.
  ///   - longest: milliseconds after any.
  public init(first: Int64, longest: Int64) { (self.first, self.longest) = (first, longest) }

  /// Milliseconds after so many errors, at least one.
  public func wait(after errors: Int) -> Int64 {
    min(longest, first << Int64(min(max(errors - 1, 0), 20)))
  }

  /// A time within a tenth of the given one, so that many that wait do not come together.
  public static func varied(
    _ milliseconds: Int64, by random: inout some RandomNumberGenerator
  ) -> Int64 {
    let tenth = milliseconds / 10
    return milliseconds + Int64.random(in: -tenth...tenth, using: &random)
  }
}
