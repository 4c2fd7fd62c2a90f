/// The text form of a time: RFC 3339, or milliseconds since 1970-01-01T00:00:00Z.
public enum Timestamp {
  /// Reads `2026-01-31T10:00:00Z`, optionally with a fraction of a second or an offset, a date
  /// alone (midnight UTC), or milliseconds.
  ///
  /// - Returns: milliseconds since 1970; nil for any other text and for a day that does not exist.
  public static func parse(_ text: String) -> Int64? {
    if let milliseconds = Int64(text) { return milliseconds }
    var bytes = Array(text.utf8)[...]
    guard let year = digits(4, &bytes), skip("-", &bytes), let month = digits(2, &bytes),
      skip("-", &bytes), let day = digits(2, &bytes),
      let midnight = CivilTime(year: year, month: month, day: day)?.milliseconds
    else { return nil }
    if bytes.isEmpty { return midnight }
    guard skip("T", &bytes) || skip("t", &bytes) || skip(" ", &bytes),
      let time = timeOfDay(&bytes), let offset = offset(&bytes), bytes.isEmpty
    else { return nil }
    return midnight + time - offset
  }

  /// RFC 3339 in UTC, with milliseconds unless they are zero. More than 100 million days from 1970
  /// the text is the number of milliseconds.
  public static func text(_ milliseconds: Int64) -> String {
    guard written.contains(milliseconds) else { return String(milliseconds) }
    let time = CivilTime(milliseconds: milliseconds)
    let (second, fraction) = time.millisecondOfDay.quotientAndRemainder(dividingBy: 1000)
    let clock = [second / 3600, second / 60 % 60, second % 60].map { pad($0, 2) }
    return "\(pad(time.year, 4))-\(pad(time.month, 2))-\(pad(time.dayOfMonth, 2))T"
      + clock.joined(separator: ":")
      + (fraction == 0 ? "Z" : ".\(pad(fraction, 3))Z")
  }

  /// The times that `text` writes as a date.
  private static let written = -99_999_999 * CivilTime.day..<100_000_000 * CivilTime.day

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

  private static func skip(_ character: Unicode.Scalar, _ bytes: inout ArraySlice<UInt8>) -> Bool {
    guard bytes.first == UInt8(ascii: character) else { return false }
    bytes = bytes.dropFirst()
    return true
  }

  private static func timeOfDay(_ bytes: inout ArraySlice<UInt8>) -> Int64? {
    guard let hour = digits(2, &bytes), hour < 24, skip(":", &bytes),
      let minute = digits(2, &bytes), minute < 60, skip(":", &bytes),
      let second = digits(2, &bytes), second < 61
    else { return nil }
    var milliseconds = (hour * 3600 + minute * 60 + second) * 1000
    if skip(".", &bytes) {
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
    if skip("Z", &bytes) || skip("z", &bytes) { return 0 }
    let sign: Int64 = bytes.first == UInt8(ascii: "-") ? -1 : 1
    guard skip("+", &bytes) || skip("-", &bytes), let hour = digits(2, &bytes), hour < 24,
      skip(":", &bytes), let minute = digits(2, &bytes), minute < 60
    else { return nil }
    return sign * (hour * 60 + minute) * 60_000
  }

  private static func pad(_ value: Int64, _ width: Int) -> String {
    let digits = String(value)
    return String(repeating: "0", count: max(0, width - digits.count)) + digits
  }
}
