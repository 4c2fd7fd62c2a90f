/// A moment by the civil calendar in UTC, and back: what billing periods are counted in.
public struct CivilTime: Equatable {
  public static let hour: Int64 = 3_600_000
  public static let day: Int64 = 86_400_000

  var year: Int64
  /// 1 to 12.
  var month: Int64
  /// 1 to 31.
  var dayOfMonth: Int64
  /// Milliseconds since midnight.
  var time: Int64

  /// From milliseconds since 1970. Counts in eras of 400 years that begin in March, so that the
  /// leap day is the last of its year.
  public init(milliseconds: Int64) {
    let days = (milliseconds - Self.modulo(milliseconds, Self.day)) / Self.day + 719_468
    time = Self.modulo(milliseconds, Self.day)
    let era = (days - Self.modulo(days, 146_097)) / 146_097
    let dayOfEra = Self.modulo(days, 146_097)
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let marchMonth = (5 * dayOfYear + 2) / 153
    dayOfMonth = dayOfYear - (153 * marchMonth + 2) / 5 + 1
    month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
    year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
  }

  public var milliseconds: Int64 {
    let marchYear = month <= 2 ? year - 1 : year
    let era = (marchYear - Self.modulo(marchYear, 400)) / 400
    let yearOfEra = Self.modulo(marchYear, 400)
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + dayOfMonth - 1
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    return (era * 146_097 + dayOfEra - 719_468) * Self.day + time
  }

  /// The same day of a later month, or that month's last day where it is shorter.
  public func adding(months: Int64) -> CivilTime {
    var later = self
    let count = year * 12 + month - 1 + months
    later.year = (count - Self.modulo(count, 12)) / 12
    later.month = Self.modulo(count, 12) + 1
    later.dayOfMonth = min(dayOfMonth, Self.days(of: later.month, in: later.year))
    return later
  }

  private static func days(of month: Int64, in year: Int64) -> Int64 {
    switch month {
    case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }

  private static func modulo(_ value: Int64, _ divisor: Int64) -> Int64 {
    let rest = value % divisor
    return rest < 0 ? rest + divisor : rest
  }

  /// Reads milliseconds since 1970, or RFC 3339 with `Z` and whole seconds; nil for anything else.
  public static func parse(_ text: String) -> Int64? {
    if let milliseconds = Int64(text), milliseconds >= 0 { return milliseconds }
    let bytes = Array(text.utf8)
    guard bytes.count == 20, bytes[19] == UInt8(ascii: "Z") || bytes[19] == UInt8(ascii: "z")
    else { return nil }
    for (index, mark) in [(4, "-"), (7, "-"), (10, "T"), (13, ":"), (16, ":")] {
      guard String(UnicodeScalar(bytes[index])).uppercased() == mark else { return nil }
    }
    func number(_ range: Range<Int>, _ bounds: ClosedRange<Int64>) -> Int64? {
      guard bytes[range].allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
      let value = bytes[range].reduce(Int64(0)) { $0 * 10 + Int64($1 - 0x30) }
      return bounds.contains(value) ? value : nil
    }
    guard let year = number(0..<4, 1970...9999), let month = number(5..<7, 1...12),
      let day = number(8..<10, 1...days(of: month, in: year)), let hour = number(11..<13, 0...23),
      let minute = number(14..<16, 0...59), let second = number(17..<19, 0...59)
    else { return nil }
    var civil = CivilTime(milliseconds: 0)
    civil.year = year
    civil.month = month
    civil.dayOfMonth = day
    civil.time = ((hour * 60 + minute) * 60 + second) * 1000
    return civil.milliseconds
  }
}
