import AppStore
import Platform

/// What a recovery is to ask for. Times are milliseconds since 1970 UTC.
public struct RecoveryPlan: Sendable, Equatable {
  /// From when on notifications may be missing; nil for as far back as Apple's history goes.
  var since: Int64?
  /// Until when; nil for now.
  var until: Int64?
  /// Only what Apple could not deliver.
  var onlyFailures: Bool
  /// When the recovery began. What is journaled after `startSeq` with the arrival `history` was
  /// recovered by it, also if it was interrupted in between.
  public let startedAt: Int64
  /// The head of the journal then.
  let startSeq: Int64

  public init(
    since: Int64? = nil, until: Int64? = nil, onlyFailures: Bool = false, startedAt: Int64,
    startSeq: Int64
  ) {
    (self.since, self.until, self.onlyFailures) = (since, until, onlyFailures)
    (self.startedAt, self.startSeq) = (startedAt, startSeq)
  }

  /// A part of the time that is asked for, at most a day.
  public struct Slice: Sendable, Hashable {
    public let from: Int64
    public let to: Int64
  }

  /// How far Apple's history reaches back: 180 days in Production, 30 in the Sandbox. Source:
  /// developer.apple.com/documentation/appstoreserverapi/startdate.
  static func reach(_ environment: Environment) -> Int64 {
    (environment == .production ? 180 : 30) * CivilTime.day
  }

  /// The earliest time that is asked for: an hour less than the reach, which ends while it is asked
  /// for.
  func oldest(_ environment: Environment) -> Int64 {
    startedAt - Self.reach(environment) + CivilTime.hour
  }

  /// The time that is asked for, a day longer at both ends: whether Apple counts by the date of
  /// signing or of sending is not documented. The end is ahead of our clock, which may be behind
  /// Apple's; Apple takes it for now.
  func window(_ environment: Environment) -> Range<Int64> {
    let oldest = oldest(environment)
    let from = max(oldest, since.map { $0 - CivilTime.day } ?? oldest)
    let end = startedAt + CivilTime.hour
    return from..<max(from, min(end, until.map { min($0, end) + CivilTime.day } ?? end))
  }

  /// The time of which Apple has nothing any more; nil if there is none.
  func gone(_ environment: Environment) -> Range<Int64>? {
    let oldest = oldest(environment)
    guard let since, since < oldest else { return nil }
    return since..<max(since, min(oldest, until ?? oldest))
  }

  /// The window in parts that end at midnight, so that a later run of the same plan has the same.
  func slices(_ environment: Environment) -> [Slice] {
    let window = window(environment)
    var slices: [Slice] = []
    var from = window.lowerBound
    while from < window.upperBound {
      let to = min(window.upperBound, (from / CivilTime.day + 1) * CivilTime.day)
      slices.append(Slice(from: from, to: to))
      from = to
    }
    return slices
  }
}
