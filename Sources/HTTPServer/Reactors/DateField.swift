import Platform
import Synchronization

/// The field `Date` of responses (RFC 9110 section 6.6.1), written once a second.
package enum DateField {
  private static let last = Mutex<(second: Int64, field: [UInt8])>((.min, []))

  /// The field with its line end.
  static var bytes: [UInt8] {
    let second = Clock.now() / 1000
    return last.withLock { last in
      if last.second != second { last = (second, Array("Date: \(text(second))\r\n".utf8)) }
      return last.field
    }
  }

  /// IMF-fixdate (RFC 9110 section 5.6.7).
  ///
  /// - Parameter second: seconds since 1970.
  package static func text(_ second: Int64) -> String {
    let time = Clock.utc(second)
    let date = "\(pad(time.day)) \(months[time.month - 1]) \(time.year)"
    let clock = [time.hour, time.minute, time.second].map(pad).joined(separator: ":")
    return "\(weekdays[time.weekday]), \(date) \(clock) GMT"
  }

  private static let weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  private static func pad(_ value: Int) -> String { value < 10 ? "0\(value)" : "\(value)" }
}
