/// A checked name of a schema or a role, of which the names of others can be made.
public struct PostgresIdentifier: Sendable, Hashable, CustomStringConvertible {
  public let name: String

  /// nil unless it begins with a letter or `_`, has letters of a–z, digits and `_`, and at most 48
  /// characters: it is then written the same in every statement, file and message.
  public init?(_ name: String) {
    let isLetter = { (byte: UInt8) in (97...122).contains(byte) || byte == 95 }
    guard (1...48).contains(name.utf8.count), let first = name.utf8.first, isLetter(first),
      name.utf8.allSatisfy({ isLetter($0) || (48...57).contains($0) })
    else { return nil }
    self.name = name
  }

  /// As it stands in a statement: quoted, because it may be a word of SQL.
  public var quoted: String { "\"\(name)\"" }

  public var description: String { name }
}
