/// A date and a time of day in UTC, in the proleptic Gregorian calendar without leap seconds.
///
/// All conversions between calendar dates and milliseconds since 1970 are here. The algorithm
/// counts in eras of 400 years (146,097 days) and in years that begin on 1 March, so that a leap
/// day is the last day of its year.
public struct CivilTime: Equatable, Sendable {
  /// Milliseconds of an hour.
  public static let hour: Int64 = 3_600_000
  /// Milliseconds of a day.
  public static let day: Int64 = 86_400_000

  /// The astronomical year: 0 is 1 BC.
  public private(set) var year: Int64
  /// 1 to 12.
  public private(set) var month: Int64
  /// 1 to 31.
  public private(set) var dayOfMonth: Int64
  /// Milliseconds since midnight.
  public let millisecondOfDay: Int64

  /// Days from 0000-03-01, where the first era begins, to 1970-01-01.
  private static let daysBefore1970: Int64 = 719_468
  private static let daysOfEra: Int64 = 146_097

  /// - Parameter milliseconds: since 1970-01-01T00:00:00Z; any value.
  public init(milliseconds: Int64) {
    let (days, time) = Self.floorDivide(milliseconds, Self.day)
    let (era, dayOfEra) = Self.floorDivide(days + Self.daysBefore1970, Self.daysOfEra)
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let marchMonth = (5 * dayOfYear + 2) / 153
    millisecondOfDay = time
    dayOfMonth = dayOfYear - (153 * marchMonth + 2) / 5 + 1
    month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
    year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
  }

  /// Returns nil if the calendar has no such day, the time is not within a day, or the year is more
  /// than a million years from 0, where milliseconds might not fit.
  public init?(year: Int64, month: Int64, day: Int64, millisecondOfDay: Int64 = 0) {
    guard year.magnitude <= 1_000_000, (1...12).contains(month),
      (1...Self.days(of: month, in: year)).contains(day),
      (0..<Self.day).contains(millisecondOfDay)
    else { return nil }
    (self.year, self.month, dayOfMonth) = (year, month, day)
    self.millisecondOfDay = millisecondOfDay
  }

  /// Milliseconds since 1970-01-01T00:00:00Z.
  public var milliseconds: Int64 {
    let (era, yearOfEra) = Self.floorDivide(month <= 2 ? year - 1 : year, 400)
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + dayOfMonth - 1
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    let days = era * Self.daysOfEra + dayOfEra - Self.daysBefore1970
    // Wrapping: midnight of the first day that has a millisecond in Int64 is not in Int64.
    return days &* Self.day &+ millisecondOfDay
  }

  /// The same day of a later month, or that month's last day if it is shorter.
  public func adding(months: Int64) -> CivilTime {
    var later = self
    let (year, month) = Self.floorDivide(self.year * 12 + self.month - 1 + months, 12)
    (later.year, later.month) = (year, month + 1)
    later.dayOfMonth = min(dayOfMonth, Self.days(of: month + 1, in: year))
    return later
  }

  private static func days(of month: Int64, in year: Int64) -> Int64 {
    switch month {
    case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }

  /// The quotient rounded down, and the remainder, which is never negative.
  private static func floorDivide(_ value: Int64, _ divisor: Int64) -> (Int64, Int64) {
    let (quotient, remainder) = value.quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
  }
}
