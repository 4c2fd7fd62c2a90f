/// Makes text from outside safe to show on a terminal.
public enum VisibleText {
  /// The text with every control, format, separator, private or unassigned character replaced by
  /// its number, `<U+202E>`: such characters move the cursor, reverse the text or are invisible.
  public static func of(_ text: String) -> String {
    if text.utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) { return text }
    var shown = ""
    for scalar in text.unicodeScalars { shown += of(scalar) }
    return shown
  }

  /// As `of`, but line feeds stay: for text of several lines.
  public static func ofLines(_ text: String) -> String {
    if text.utf8.allSatisfy({ (0x20..<0x7F).contains($0) || $0 == 0x0A }) { return text }
    var shown = ""
    for scalar in text.unicodeScalars { shown += scalar == "\n" ? "\n" : of(scalar) }
    return shown
  }

  /// A scalar as it is, or its number.
  static func of(_ scalar: Unicode.Scalar) -> String {
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse,
      .unassigned:
      "<U+\(String(scalar.value, radix: 16, uppercase: true))>"
    default: String(scalar)
    }
  }
}
