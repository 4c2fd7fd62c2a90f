/// Reads ids from a text: one a line, or a column of comma-separated values (RFC 4180).
public struct IdentifierFile: Sendable {
  /// Without repetitions, in the order of the file.
  public private(set) var ids: [String] = []
  /// Numbers of lines that have no id.
  public private(set) var invalid: [Int] = []

  /// The column of ids.
  public enum Column: Sendable {
    /// The whole line.
    case line
    /// From 1.
    case number(Int)
    /// As the first line has it.
    case name(String)
  }

  public enum Fault: Error, Sendable {
    /// The first line has no such column.
    case noColumn
  }

  /// - Throws: `Fault.noColumn`.
  public init(_ text: String, _ column: Column) throws(Fault) {
    var seen: Set<String> = []
    var index: Int?
    if case .number(let number) = column { index = number - 1 }
    for (number, line) in text.split(whereSeparator: \.isNewline).enumerated() {
      let fields = Self.fields(line)
      if number == 0, case .name(let name) = column {
        guard let found = fields.firstIndex(of: name) else { throw .noColumn }
        index = found
        continue
      }
      let field = index.map { $0 < fields.count ? fields[$0] : "" } ?? String(line)
      let id = field.filter { !$0.isWhitespace }
      if Self.isIdentifier(id) {
        if seen.insert(id).inserted { ids.append(id) }
      } else if number > 0 || id.contains(where: \.isNumber) {
        // The first line may be a heading.
        invalid.append(number + 1)
      }
    }
  }

  /// Apple's ids are decimal numbers.
  private static func isIdentifier(_ text: String) -> Bool {
    (1...20).contains(text.utf8.count) && text.utf8.allSatisfy { (0x30...0x39).contains($0) }
  }

  private static func fields(_ line: Substring) -> [String] {
    var fields: [String] = []
    var field = ""
    var isQuoted = false
    for character in line {
      if character == "\"" {
        isQuoted.toggle()
      } else if character == ",", !isQuoted {
        fields.append(field)
        field = ""
      } else {
        field.append(character)
      }
    }
    return fields + [field]
  }
}
