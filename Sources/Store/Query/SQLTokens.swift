/// The names and symbols of an SQL text, split as SQLite splits it (sqlite.org/c3ref/complete.html,
/// tokenize.c), without white space and comments.
///
/// SQLite alone parses the text. The tokens answer two questions that its authorizer cannot: which
/// names occur, and whether a WITH clause defines one of them.
struct SQLTokens {
  enum Token: Equatable {
    /// A keyword, a number, or a name in any quotes, in lower case without the quotes. SQLite also
    /// accepts a string in places of a name.
    case name(String)
    case symbol(UInt8)
  }

  private(set) var tokens: [Token] = []
  private let bytes: [UInt8]
  private var offset = 0

  init(_ sql: String) {
    bytes = Array(sql.utf8)
    while offset < bytes.count { scan() }
  }

  /// All names, for example to see which tables the text may mean.
  var names: Set<String> {
    Set(
      tokens.compactMap { token in
        if case .name(let name) = token { name } else { nil }
      })
  }

  /// Whether nothing but semicolons occurs.
  var isBlank: Bool { tokens.allSatisfy { $0 == .symbol(UInt8(ascii: ";")) } }

  /// The first of these names that a WITH clause defines. A name that is followed by `(`, by `AS (`
  /// or by `AS [NOT] MATERIALIZED` can be nothing else, because the names are those of views.
  func definition(of names: Set<String>) -> String? {
    for (index, token) in tokens.enumerated() {
      guard case .name(let name) = token, names.contains(name) else { continue }
      let next = tokens[(index + 1)...].prefix(2)
      if next.first == .symbol(UInt8(ascii: "(")) { return name }
      guard next.first == .name("as"), next.count == 2, let last = next.last else { continue }
      if [.symbol(UInt8(ascii: "(")), .name("not"), .name("materialized")].contains(last) {
        return name
      }
    }
    return nil
  }

  // MARK: Scanning

  private mutating func scan() {
    let byte = bytes[offset]
    switch byte {
    case 0x09, 0x0A, 0x0C, 0x0D, 0x20: offset += 1
    case UInt8(ascii: "-") where follows("--"): skip(through: [0x0A])
    case UInt8(ascii: "/") where follows("/*"):
      offset += 2
      skip(through: Array("*/".utf8))
    case UInt8(ascii: "'"), UInt8(ascii: "\""), UInt8(ascii: "`"): quoted(byte)
    case UInt8(ascii: "["): bracketed()
    case _ where Self.isOfName(byte):
      let name = bytes[offset...].prefix(while: Self.isOfName)
      offset = name.endIndex
      add(Array(name))
    default:
      tokens.append(.symbol(byte))
      offset += 1
    }
  }

  private func follows(_ text: String) -> Bool { bytes[offset...].starts(with: text.utf8) }

  /// Moves past the next occurrence of `end`, or to the end of the text.
  private mutating func skip(through end: [UInt8]) {
    while offset < bytes.count, !bytes[offset...].starts(with: end) { offset += 1 }
    offset = min(offset + end.count, bytes.count)
  }

  /// A doubled quote stands for one.
  private mutating func quoted(_ quote: UInt8) {
    var name: [UInt8] = []
    offset += 1
    while offset < bytes.count {
      if bytes[offset] == quote {
        offset += 1
        guard offset < bytes.count, bytes[offset] == quote else { break }
      }
      name.append(bytes[offset])
      offset += 1
    }
    add(name)
  }

  private mutating func bracketed() {
    let name = bytes[(offset + 1)...].prefix { $0 != UInt8(ascii: "]") }
    offset = min(name.endIndex + 1, bytes.count)
    add(Array(name))
  }

  private mutating func add(_ name: [UInt8]) {
    tokens.append(.name(Self.lowercased(String(decoding: name, as: UTF8.self))))
  }

  private static func isOfName(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x5F, 0x61...0x7A, 0x24, 0x80...0xFF: true
    default: false
    }
  }

  /// SQLite ignores the case of ASCII letters alone in a name.
  static func lowercased(_ name: String) -> String {
    String(
      decoding: name.utf8.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }, as: UTF8.self)
  }
}
