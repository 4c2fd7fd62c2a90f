import Platform
import StrictJSON

/// When to log that the disk is full, which `LedgerWriter` notices: when it begins, each minute
/// while it lasts, and when it is over. Has no clock: times are nanoseconds of a clock that never
/// steps.
///
/// A small notification may find room where the next one does not. So it is over only once there
/// was room for ten seconds.
package struct DiskAlarm: Sendable {
  /// What is to be logged.
  package enum Line: Equatable, Sendable {
    case began
    /// - Parameters:
    ///   - refused: how many notifications were answered with 503 since it began.
    ///   - seconds: how long it has lasted.
    case lasts(refused: Int64, seconds: Int64)
    case ended(refused: Int64, seconds: Int64)
  }

  private struct Full {
    let since: Int64
    var failedAt: Int64
    var saidAt: Int64
    var probedAt: Int64
    var refused: Int64
    var hasRoom = false
  }

  private var full: Full?

  static let calm: Int64 = 10_000_000_000
  static let reminding: Int64 = 60_000_000_000

  package init() {}

  package var isOn: Bool { full != nil }

  /// Notifications were refused because the disk is full.
  package mutating func recordFull(refusing count: Int64, at now: Int64) -> Line? {
    guard full == nil else {
      full?.failedAt = now
      full?.refused += count
      full?.hasRoom = false
      return nil
    }
    full = Full(since: now, failedAt: now, saidAt: now, probedAt: now, refused: count)
    return .began
  }

  /// An event, or what was written to try it, found room.
  package mutating func recordRoom() { full?.hasRoom = true }

  /// Called about once a second.
  ///
  /// - Returns: what is to be logged, and whether to try if the disk takes bytes: Apple may send
  ///   nothing for hours that would tell.
  package mutating func look(at now: Int64) -> (line: Line?, wantsProbe: Bool) {
    guard let full else { return (nil, false) }
    let seconds = (now - full.since) / 1_000_000_000
    let isCalm = now - full.failedAt >= Self.calm
    if isCalm && full.hasRoom {
      self.full = nil
      return (.ended(refused: full.refused, seconds: seconds), false)
    }
    let wantsProbe = isCalm && now - full.probedAt >= Self.calm
    if wantsProbe { self.full?.probedAt = now }
    guard now - full.saidAt >= Self.reminding else { return (nil, wantsProbe) }
    self.full?.saidAt = now
    return (.lasts(refused: full.refused, seconds: seconds), wantsProbe)
  }
}

extension DiskAlarm.Line {
  /// Writes it to the log.
  func write() {
    switch self {
    case .began:
      Log.write(
        .error, "disk_full",
        [
          ("error", .string("no space is left for the journal: notifications are answered 503")),
          ("next", .string(Self.next)),
        ])
    case .lasts(let refused, let seconds):
      Log.write(
        .error, "disk_still_full", Self.members(refused, seconds) + [("next", .string(Self.next))])
    case .ended(let refused, let seconds):
      Log.write(.warning, "disk_has_space", Self.members(refused, seconds))
    }
  }

  private static func members(_ refused: Int64, _ seconds: Int64) -> [(String, JSONValue)] {
    [("refused", .integer(refused)), ("seconds", .integer(seconds))]
  }

  private static let next =
    "free space on the disk of the data folder; Apple sends again what was answered 503, in the "
    + "Sandbox never: subledger recover brings that back"
}
