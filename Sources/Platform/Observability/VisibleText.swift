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

  /// The text as `of` shows it, as one word of a shell command to copy.
  public static func word(_ text: String) -> String {
    let text = of(text)
    let isPlain = text.utf8.allSatisfy {
      Character(Unicode.Scalar($0)).isLetter && $0 < 0x80 || "/._-0123456789".utf8.contains($0)
    }
    return isPlain
      ? text
      : "'"
        + text.split(separator: "'", omittingEmptySubsequences: false)
        .joined(separator: "'\\''") + "'"
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
