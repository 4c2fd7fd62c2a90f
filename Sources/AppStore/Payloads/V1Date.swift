import Platform

/// The readable form of V1's dates: `2020-04-21 04:11:57 Etc/GMT`.
enum V1Date {
  /// Milliseconds since 1970. Returns nil for any other form or zone (a Pacific time is ambiguous
  /// for one hour in autumn), for dates that do not exist, and for years outside 1970 to 2199.
  static func milliseconds(_ text: String) -> Int64? {
    let bytes = Array(text.utf8)
    guard bytes.count == 27, text.hasSuffix(" Etc/GMT"), bytes[10] == UInt8(ascii: " "),
      bytes[4] == UInt8(ascii: "-"), bytes[7] == UInt8(ascii: "-"),
      bytes[13] == UInt8(ascii: ":"), bytes[16] == UInt8(ascii: ":"),
      let year = number(bytes[0..<4]), let month = number(bytes[5..<7]),
      let day = number(bytes[8..<10]), let hour = number(bytes[11..<13]),
      let minute = number(bytes[14..<16]), let second = number(bytes[17..<19]),
      (1970...2199).contains(year), hour < 24, minute < 60, second < 60
    else { return nil }
    let time = ((hour * 60 + minute) * 60 + second) * 1000
    return CivilTime(year: year, month: month, day: day, millisecondOfDay: time)?.milliseconds
  }

  private static func number(_ digits: ArraySlice<UInt8>) -> Int64? {
    var value: Int64 = 0
    for digit in digits {
      guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) else { return nil }
      value = value * 10 + Int64(digit - UInt8(ascii: "0"))
    }
    return value
  }
}
