/// Formats numbers with few significant digits.
enum Decimal {
  /// At most three decimals, and three significant digits or all before the point: 0.123, 1.23,
  /// 12.3, 123, 12,345.
  static func text(_ value: Double) -> String {
    guard value.isFinite else { return "–" }
    switch value.magnitude {
    case 100...: return grouped(Int64(value.rounded()))
    case 10..<100: return fixed(value, decimals: 1)
    case 1..<10: return fixed(value, decimals: 2)
    default: return fixed(value, decimals: 3)
    }
  }

  private static func fixed(_ value: Double, decimals: Int) -> String {
    let scale = (0..<decimals).reduce(1.0) { scale, _ in scale * 10 }
    let scaled = Int64((value.magnitude * scale).rounded())
    let digits = String(scaled)
    let padded = String(repeating: "0", count: max(0, decimals + 1 - digits.count)) + digits
    let sign = value < 0 && scaled > 0 ? "-" : ""
    return sign + padded.dropLast(decimals) + "." + padded.suffix(decimals)
  }

  private static func grouped(_ value: Int64) -> String {
    var text = ""
    for (index, digit) in String(value.magnitude).reversed().enumerated() {
      if index > 0 && index % 3 == 0 { text = "," + text }
      text = String(digit) + text
    }
    return (value < 0 ? "-" : "") + text
  }
}
