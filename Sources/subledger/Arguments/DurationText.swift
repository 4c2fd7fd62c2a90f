/// A duration as text, in its largest unit and the next one: `3 h 20 min`.
enum DurationText {
  static func text(_ milliseconds: Int64) -> String {
    let units: [(Int64, String)] = [
      (86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1000, "s"), (1, "ms"),
    ]
    guard let first = units.firstIndex(where: { milliseconds >= $0.0 }) else { return "0 ms" }
    let (length, name) = units[first]
    let whole = "\(milliseconds / length) \(name)"
    guard first + 1 < units.count else { return whole }
    let (part, partName) = units[first + 1]
    let remainder = milliseconds % length / part
    return remainder == 0 ? whole : "\(whole) \(remainder) \(partName)"
  }
}
