/// Lines of a CSV file (RFC 4180).
public enum CSV {
  /// One line without its line end; nil is an empty field.
  static func line(_ values: [String?]) -> String {
    values.map { field($0 ?? "") }.joined(separator: ",")
  }

  /// A text as a cell of a spreadsheet: what that would calculate begins with an apostrophe; a
  /// number stays as it is.
  public static func cell(_ text: String) -> String {
    let isFormula = text.utf8.first.map { Array("=+-@\t\r".utf8).contains($0) } ?? false
    return isFormula && Double(text) == nil ? "'" + text : text
  }

  private static func field(_ text: String) -> String {
    let text = cell(text)
    let needsQuotes = text.utf8.contains { [0x22, 0x2C, 0x0A, 0x0D].contains($0) }
    guard needsQuotes else { return text }
    let doubled = text.split(separator: "\"", omittingEmptySubsequences: false)
    return "\"" + doubled.joined(separator: "\"\"") + "\""
  }
}
