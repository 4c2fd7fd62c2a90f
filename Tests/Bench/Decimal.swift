/// Numbers as people read them: few digits that mean something.
enum Decimal {
  /// Three significant digits and more before the point: 0.123, 1.23, 12.3, 123, 12,345.
  static func text(_ value: Double) -> String {
    guard value.isFinite else { return "–" }
    switch value.magnitude {
    case 100...: return grouped(Int64(value.rounded()))
    case 10..<100: return fixed(value, places: 1)
    case 1..<10: return fixed(value, places: 2)
    default: return fixed(value, places: 3)
    }
  }

  private static func fixed(_ value: Double, places: Int) -> String {
    let scale = (0..<places).reduce(1.0) { scale, _ in scale * 10 }
    let scaled = Int64((value.magnitude * scale).rounded())
    let digits = String(scaled)
    let padded = String(repeating: "0", count: max(0, places + 1 - digits.count)) + digits
    let sign = value < 0 && scaled > 0 ? "-" : ""
    return sign + padded.dropLast(places) + "." + padded.suffix(places)
  }

  private static func grouped(_ value: Int64) -> String {
    var text = ""
    for (place, digit) in String(value.magnitude).reversed().enumerated() {
      if place > 0 && place % 3 == 0 { text = "," + text }
      text = String(digit) + text
    }
    return (value < 0 ? "-" : "") + text
  }
}
