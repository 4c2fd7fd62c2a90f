/// Durations and sizes as text for people.
public enum ReadableUnits {
  /// For example `3 days` or `4 hours`.
  static func duration(milliseconds: Int64) -> String {
    let units: [(Int64, String)] = [
      (86_400_000, "day"), (3_600_000, "hour"), (60_000, "minute"), (1000, "second"),
    ]
    for (length, name) in units where milliseconds >= 2 * length || length == 1000 {
      let count = milliseconds / length
      return "\(count) \(name)\(count == 1 ? "" : "s")"
    }
    return "no time"
  }

  /// For example `1.5 GB`, which is 1,500,000,000 bytes.
  public static func size(bytes: Int64) -> String {
    guard bytes >= 1000 else { return "\(bytes) byte\(bytes == 1 ? "" : "s")" }
    var value = Double(bytes) / 1000
    for unit in ["KB", "MB", "GB"] {
      if value < 999.95 { return "\(tenths(value)) \(unit)" }
      value /= 1000
    }
    return "\(tenths(value)) TB"
  }

  private static func tenths(_ value: Double) -> String {
    let scaled = Int64((value * 10).rounded())
    return scaled % 10 == 0 ? "\(scaled / 10)" : "\(scaled / 10).\(scaled % 10)"
  }
}
