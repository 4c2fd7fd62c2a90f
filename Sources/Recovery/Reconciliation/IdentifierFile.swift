import Store

/// Reads ids from a text: one a line, or a column of comma-separated values (RFC 4180).
public struct IdentifierFile: Sendable {
  /// Without repetitions, in the order of the file.
  public private(set) var ids: [String] = []
  /// The owner's accounts that have a purchase, by its id, in the order of the file.
  public private(set) var accounts: [String: [String]] = [:]
  /// Numbers of lines that have no id, or an account that cannot be one.
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

  /// - Parameter accountColumn: the column of the owner's accounts; nil if there is none.
  /// - Throws: `Fault.noColumn`.
  public init(_ text: String, _ column: Column, accountColumn: Column? = nil) throws(Fault) {
    var seen: Set<String> = []
    let lines = text.split(whereSeparator: \.isNewline)
    let heading = lines.first.map(Self.fields) ?? []
    let index = try Self.index(of: column, heading)
    let accountIndex = try accountColumn.flatMap { (column) throws(Fault) in
      try Self.index(of: column, heading)
    }
    var hasHeading = false
    for case .name? in [column, accountColumn] { hasHeading = true }
    for (number, line) in lines.enumerated() where number > 0 || !hasHeading {
      let fields = Self.fields(line)
      let field = index.map { $0 < fields.count ? fields[$0] : "" } ?? String(line)
      let id = field.filter { !$0.isWhitespace }
      if Self.isIdentifier(id) {
        if seen.insert(id).inserted { ids.append(id) }
        let account = accountIndex.map { $0 < fields.count ? fields[$0] : "" } ?? ""
        guard !account.isEmpty else { continue }
        guard CustomerName.isValid(account) else {
          invalid.append(number + 1)
          continue
        }
        if accounts[id]?.contains(account) != true { accounts[id, default: []].append(account) }
      } else if number > 0 || id.contains(where: \.isNumber) {
        // The first line may be a heading.
        invalid.append(number + 1)
      }
    }
  }

  private static func index(of column: Column, _ heading: [String]) throws(Fault) -> Int? {
    switch column {
    case .line: return nil
    case .number(let number): return number - 1
    case .name(let name):
      guard let found = heading.firstIndex(of: name) else { throw .noColumn }
      return found
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
