/// Decides which lines of each kind are logged: so many in a second, counted from the first. The
/// others are left out and counted.
///
/// It has no clock: the caller passes the time. Kinds must come from a small closed set, because
/// each is remembered.
public struct LineLimit<Kind: Hashable & Comparable & Sendable>: Sendable {
  /// What came within a second.
  private struct Second {
    let start: Int64
    var written = 0
    var leftOut: Int64 = 0
  }

  private let linesPerSecond: Int
  private var seconds: [Kind: Second] = [:]

  /// - Parameter linesPerSecond: how many lines of each kind are logged within a second.
  public init(linesPerSecond: Int) { self.linesPerSecond = linesPerSecond }

  /// Counts a line.
  ///
  /// - Parameter now: milliseconds by a clock that never goes back.
  /// - Returns: whether the line is logged, and how many lines of its kind were left out in the
  ///   second that has ended; the caller logs that number, because it is returned once.
  public mutating func admit(_ kind: Kind, at now: Int64) -> (isLogged: Bool, leftOut: Int64) {
    var second = seconds[kind] ?? Second(start: now)
    var ended: Int64 = 0
    if Self.hasEnded(second, at: now) {
      ended = second.leftOut
      second = Second(start: now)
    }
    let isLogged = second.written < linesPerSecond
    if isLogged { second.written += 1 } else { second.leftOut += 1 }
    seconds[kind] = second
    return (isLogged, ended)
  }

  /// How many lines of each kind were left out in seconds that have ended, for kinds of which no
  /// further line came. Each number is returned once.
  public mutating func takeLeftOut(at now: Int64) -> [(kind: Kind, count: Int64)] {
    let ended = seconds.filter { Self.hasEnded($1, at: now) }
    for kind in ended.keys { seconds[kind] = nil }
    return ended.filter { $1.leftOut > 0 }.map { (kind: $0, count: $1.leftOut) }
      .sorted { $0.kind < $1.kind }
  }

  private static func hasEnded(_ second: Second, at now: Int64) -> Bool {
    now - second.start >= 1000
  }
}
