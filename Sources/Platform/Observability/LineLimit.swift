/// Decides which lines of each kind are logged: so many in a time, counted from the first. The
/// others are left out and counted.
///
/// It has no clock: the caller passes the time. Kinds must come from a small closed set, because
/// each is remembered.
public struct LineLimit<Kind: Hashable & Comparable & Sendable>: Sendable {
  /// What came within one such time.
  private struct Window {
    let start: Int64
    var written = 0
    var leftOut: Int64 = 0
  }

  private let lines: Int
  private let milliseconds: Int64
  private var windows: [Kind: Window] = [:]

  /// - Parameter linesPerSecond: how many lines of each kind are logged within a second.
  public init(linesPerSecond: Int) { (lines, milliseconds) = (linesPerSecond, 1000) }

  /// - Parameter linesPerMinute: how many lines of each kind are logged within a minute.
  public init(linesPerMinute: Int) { (lines, milliseconds) = (linesPerMinute, 60_000) }

  /// Counts a line.
  ///
  /// - Parameter now: milliseconds by a clock that never goes back.
  /// - Returns: whether the line is logged, and how many lines of its kind were left out in the
  ///   time that has ended; the caller logs that number, because it is returned once.
  public mutating func admit(_ kind: Kind, at now: Int64) -> (isLogged: Bool, leftOut: Int64) {
    var window = windows[kind] ?? Window(start: now)
    var ended: Int64 = 0
    if hasEnded(window, at: now) {
      ended = window.leftOut
      window = Window(start: now)
    }
    let isLogged = window.written < lines
    if isLogged { window.written += 1 } else { window.leftOut += 1 }
    windows[kind] = window
    return (isLogged, ended)
  }

  /// How many lines of each kind were left out in times that have ended, for kinds of which no
  /// further line came. Each number is returned once.
  public mutating func takeLeftOut(at now: Int64) -> [(kind: Kind, count: Int64)] {
    let ended = windows.filter { hasEnded($1, at: now) }
    for kind in ended.keys { windows[kind] = nil }
    return ended.filter { $1.leftOut > 0 }.map { (kind: $0, count: $1.leftOut) }
      .sorted { $0.kind < $1.kind }
  }

  private func hasEnded(_ window: Window, at now: Int64) -> Bool {
    now - window.start >= milliseconds
  }
}
