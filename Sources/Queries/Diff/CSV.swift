/// Lines of a CSV file (RFC 4180).
enum CSV {
  /// One line without its line end; nil is an empty field.
  static func line(_ values: [String?]) -> String {
    values.map { field($0 ?? "") }.joined(separator: ",")
  }

  private static func field(_ text: String) -> String {
    let needsQuotes = text.utf8.contains { [0x22, 0x2C, 0x0A, 0x0D].contains($0) }
    guard needsQuotes else { return text }
    let doubled = text.split(separator: "\"", omittingEmptySubsequences: false)
    return "\"" + doubled.joined(separator: "\"\"") + "\""
  }
}
