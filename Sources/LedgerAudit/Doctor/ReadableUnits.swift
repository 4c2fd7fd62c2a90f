/// Durations and sizes as text for people.
enum ReadableUnits {
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

  /// For example `1.5 GiB`.
  static func size(bytes: Int64) -> String {
    var value = Double(bytes)
    for unit in ["bytes", "KiB", "MiB", "GiB"] {
      if value < 1024 { return unit == "bytes" ? "\(bytes) bytes" : "\(tenths(value)) \(unit)" }
      value /= 1024
    }
    return "\(tenths(value)) TiB"
  }

  private static func tenths(_ value: Double) -> String {
    let scaled = Int64((value * 10).rounded())
    return scaled % 10 == 0 ? "\(scaled / 10)" : "\(scaled / 10).\(scaled % 10)"
  }
}
