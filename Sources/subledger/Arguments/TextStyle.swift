import Platform

/// How a text looks on a terminal; elsewhere it is plain.
enum TextStyle: String {
  case plain = ""
  case bold = "1"
  case faint = "2"
  case red = "31"
  case green = "32"
  case yellow = "33"

  /// The text in this style, if it goes to a terminal that shows styles (ECMA-48, SGR).
  ///
  /// - Parameter text: without control characters.
  func applied(to text: [UInt8], on descriptor: Int32) -> [UInt8] {
    guard self != .plain, Self.isShown(on: descriptor) else { return text }
    return Array("\u{1B}[\(rawValue)m".utf8) + text + Array("\u{1B}[0m".utf8)
  }

  /// NO_COLOR, unless it is empty, turns styles off (no-color.org).
  private static func isShown(on descriptor: Int32) -> Bool {
    let variables = ProcessEnvironment.variables
    return ProcessLimits.isTerminal(descriptor) && variables["NO_COLOR", default: ""].isEmpty
      && variables["TERM"] != "dumb"
  }
}
