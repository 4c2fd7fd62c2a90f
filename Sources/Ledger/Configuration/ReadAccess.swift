import Platform
import SignedData

/// Recognizes bearer tokens (RFC 6750) by their SHA-256.
public struct ReadAccess: Sendable {
  private let tokens: [Configuration.ReadToken]

  public init(_ tokens: [Configuration.ReadToken]) { self.tokens = tokens }

  /// The SHA-256 of a token in hexadecimal, as the configuration has it.
  public static func digest(of token: String) -> String {
    Hexadecimal.encode(SHA256.hash(Array(token.utf8)))
  }

  /// The token of a request, given all its Authorization fields. Returns nil if there is none, more
  /// than one, or one that is not known.
  ///
  /// Every known token is compared, so that the duration reveals nothing about a guess.
  public func token(authorization fields: [String]) -> Configuration.ReadToken? {
    guard fields.count == 1, let field = fields.first,
      let space = field.utf8.firstIndex(of: UInt8(ascii: " ")),
      field.utf8[..<space].lazy.map({ $0 | 0x20 }).elementsEqual("bearer".utf8)
    else { return nil }
    let digest = SHA256.hash(Array(field.utf8[space...].dropFirst()))
    var found: Configuration.ReadToken?
    for token in tokens where SHA256.areSame(token.sha256, digest) { found = token }
    return found
  }
}
