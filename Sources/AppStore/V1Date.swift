/// The readable form of V1's dates: `2020-04-21 04:11:57 Etc/GMT`.
enum V1Date {
  /// Milliseconds since 1970; nil for any other form or zone (Pacific time is not one time in
  /// autumn), and for days that are in no calendar.
  static func milliseconds(_ text: String) -> Int64? {
    let bytes = Array(text.utf8)
    guard bytes.count == 27, text.hasSuffix(" Etc/GMT"), bytes[10] == UInt8(ascii: " "),
      bytes[4] == UInt8(ascii: "-"), bytes[7] == UInt8(ascii: "-"),
      bytes[13] == UInt8(ascii: ":"), bytes[16] == UInt8(ascii: ":"),
      let year = number(bytes[0..<4]), let month = number(bytes[5..<7]),
      let day = number(bytes[8..<10]), let hour = number(bytes[11..<13]),
      let minute = number(bytes[14..<16]), let second = number(bytes[17..<19]),
      (1970...2199).contains(year), (1...12).contains(month), hour < 24, minute < 60, second < 60,
      (1...length(of: month, in: year)).contains(day)
    else { return nil }
    let days = daysBefore(year) + (1..<month).reduce(0) { $0 + length(of: $1, in: year) } + day - 1
    return (((days * 24 + hour) * 60 + minute) * 60 + second) * 1000
  }

  private static func number(_ digits: ArraySlice<UInt8>) -> Int64? {
    var value: Int64 = 0
    for digit in digits {
      guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) else { return nil }
      value = value * 10 + Int64(digit - UInt8(ascii: "0"))
    }
    return value
  }

  private static func isLeap(_ year: Int64) -> Bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
  }

  private static func length(of month: Int64, in year: Int64) -> Int64 {
    switch month {
    case 2: isLeap(year) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }

  private static func daysBefore(_ year: Int64) -> Int64 {
    (1970..<year).reduce(0) { $0 + (isLeap($1) ? 366 : 365) }
  }
}
