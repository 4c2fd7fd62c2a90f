import Encoding
import SignedData

/// Who may read: bearer tokens (RFC 6750), known by their SHA-256 alone.
public struct ReadAccess: Sendable {
  private let tokens: [Configuration.ReadToken]

  public init(_ tokens: [Configuration.ReadToken]) { self.tokens = tokens }

  /// What the configuration holds of a token: its SHA-256 in hexadecimal.
  public static func digest(of token: String) -> String {
    Hexadecimal.encode(SHA256.hash(Array(token.utf8)))
  }

  /// The token of a request, given all its Authorization fields; nil where there is none, or more
  /// than one, or no such.
  ///
  /// Every known one is looked at: the time taken says nothing about a guess.
  public func token(authorization fields: [String]) -> Configuration.ReadToken? {
    guard fields.count == 1, let field = fields.first,
      let space = field.utf8.firstIndex(of: UInt8(ascii: " ")),
      field[..<space].lowercased() == "bearer"
    else { return nil }
    let digest = SHA256.hash(Array(field.utf8[space...].dropFirst()))
    var found: Configuration.ReadToken?
    for token in tokens where SHA256.areSame(token.sha256, digest) { found = token }
    return found
  }
}
