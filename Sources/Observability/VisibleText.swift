/// Text from outside, so that it looks like what it is on any terminal.
public enum VisibleText {
  /// Control characters and those that turn the direction of text, hide, or are none at all are
  /// shown by number.
  public static func of(_ text: String) -> String {
    if text.utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) { return text }
    var shown = ""
    for scalar in text.unicodeScalars { shown += of(scalar) }
    return shown
  }

  /// The same of one scalar.
  static func of(_ scalar: Unicode.Scalar) -> String {
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse,
      .unassigned:
      "<U+\(String(scalar.value, radix: 16, uppercase: true))>"
    default: String(scalar)
    }
  }
}
