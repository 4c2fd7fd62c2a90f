/// The five characters with which PostgreSQL names an error
/// (postgresql.org/docs/15/errcodes-appendix.html).
public struct SQLState: Sendable, Hashable, CustomStringConvertible {
  public let code: String

  /// nil unless the text is five digits and capital letters.
  public init?(_ code: some StringProtocol) {
    guard code.utf8.count == 5,
      code.utf8.allSatisfy({ (48...57).contains($0) || (65...90).contains($0) })
    else { return nil }
    self.code = String(code)
  }

  /// The first two characters, which name the class of the error.
  public var category: String { String(code.prefix(2)) }

  public var description: String { code }
}
