/// Moments as people write them: RFC 3339, or milliseconds since 1970-01-01T00:00:00Z.
public enum Timestamp {
  /// Reads `2026-01-31T10:00:00Z`, with a fraction or an offset if need be, a date alone (midnight
  /// UTC), or milliseconds. Nil for anything else, and for days that are in no calendar.
  public static func parse(_ text: String) -> Int64? {
    if let milliseconds = Int64(text) { return milliseconds }
    var bytes = Array(text.utf8)[...]
    guard let year = digits(4, &bytes), take("-", &bytes), let month = digits(2, &bytes),
      take("-", &bytes), let day = digits(2, &bytes), isDay(year, month, day)
    else { return nil }
    let midnight = days(year, month, day) * 86_400_000
    if bytes.isEmpty { return midnight }
    guard take("T", &bytes) || take("t", &bytes) || take(" ", &bytes),
      let time = timeOfDay(&bytes), let offset = offset(&bytes), bytes.isEmpty
    else { return nil }
    return midnight + time - offset
  }

  /// RFC 3339 in UTC, with milliseconds where there are any.
  public static func text(_ milliseconds: Int64) -> String {
    let (days, inDay) = floorDivide(milliseconds, 86_400_000)
    guard days.magnitude < 100_000_000 else { return String(milliseconds) }
    let (year, month, day) = civil(days)
    let (second, fraction) = (inDay / 1000, inDay % 1000)
    let clock = [second / 3600, second / 60 % 60, second % 60].map { pad($0, 2) }
    return "\(pad(year, 4))-\(pad(month, 2))-\(pad(day, 2))T" + clock.joined(separator: ":")
      + (fraction == 0 ? "Z" : ".\(pad(fraction, 3))Z")
  }

  // MARK: Reading

  private static func digits(_ count: Int, _ bytes: inout ArraySlice<UInt8>) -> Int64? {
    guard bytes.count >= count else { return nil }
    var value: Int64 = 0
    for byte in bytes.prefix(count) {
      guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
      value = value * 10 + Int64(byte - UInt8(ascii: "0"))
    }
    bytes = bytes.dropFirst(count)
    return value
  }

  private static func take(_ character: Unicode.Scalar, _ bytes: inout ArraySlice<UInt8>) -> Bool {
    guard bytes.first == UInt8(ascii: character) else { return false }
    bytes = bytes.dropFirst()
    return true
  }

  private static func timeOfDay(_ bytes: inout ArraySlice<UInt8>) -> Int64? {
    guard let hour = digits(2, &bytes), hour < 24, take(":", &bytes),
      let minute = digits(2, &bytes), minute < 60, take(":", &bytes),
      let second = digits(2, &bytes), second < 61
    else { return nil }
    var milliseconds = (hour * 3600 + minute * 60 + second) * 1000
    if take(".", &bytes) {
      var unit: Int64 = 100
      var count = 0
      while let digit = digits(1, &bytes) {
        milliseconds += digit * unit
        unit /= 10
        count += 1
      }
      guard count > 0 else { return nil }
    }
    return milliseconds
  }

  private static func offset(_ bytes: inout ArraySlice<UInt8>) -> Int64? {
    if take("Z", &bytes) || take("z", &bytes) { return 0 }
    let sign: Int64 = bytes.first == UInt8(ascii: "-") ? -1 : 1
    guard take("+", &bytes) || take("-", &bytes), let hour = digits(2, &bytes), hour < 24,
      take(":", &bytes), let minute = digits(2, &bytes), minute < 60
    else { return nil }
    return sign * (hour * 60 + minute) * 60_000
  }

  private static func isDay(_ year: Int64, _ month: Int64, _ day: Int64) -> Bool {
    guard (1...12).contains(month), day >= 1 else { return false }
    return civil(days(year, month, day)) == (year, month, day)
  }

  // MARK: The proleptic Gregorian calendar, in years that begin in March

  private static func days(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
    let shifted = month <= 2 ? year - 1 : year
    let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
    let (era, yearOfEra) = floorDivide(shifted, 400)
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }

  private static func civil(_ days: Int64) -> (Int64, Int64, Int64) {
    let (era, dayOfEra) = floorDivide(days + 719_468, 146_097)
    let yearOfEra =
      (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shifted = (5 * dayOfYear + 2) / 153
    let month = shifted < 10 ? shifted + 3 : shifted - 9
    let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    return (year, month, dayOfYear - (153 * shifted + 2) / 5 + 1)
  }

  private static func floorDivide(_ value: Int64, _ by: Int64) -> (Int64, Int64) {
    let (quotient, remainder) = value.quotientAndRemainder(dividingBy: by)
    return remainder < 0 ? (quotient - 1, remainder + by) : (quotient, remainder)
  }

  private static func pad(_ value: Int64, _ width: Int) -> String {
    let digits = String(value)
    return String(repeating: "0", count: max(0, width - digits.count)) + digits
  }
}
