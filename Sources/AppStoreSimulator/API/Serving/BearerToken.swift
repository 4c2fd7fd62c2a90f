import Platform
import SignedData
import StrictJSON

/// Checks the token of a request (Generating JSON Web Tokens for API requests).
struct BearerToken {
  let key: APIKey
  let bundleId: String

  /// The longest time between iat and exp, in seconds.
  static let longestLife: Int64 = 3600

  /// Whether the value of the Authorization field is a token that is valid now.
  ///
  /// - Parameter now: seconds since 1970.
  func accepts(_ field: String?, at now: Int64) -> Bool {
    guard let field, field.hasPrefix("Bearer "),
      let token = try? CompactJWS(parsing: Array(field.dropFirst("Bearer ".count).utf8)[...]),
      let header = Self.object(Base64URL.decode(token.header)),
      let claims = Self.object(token.payload)
    else { return false }
    guard header["alg"]?.string == "ES256", header["kid"]?.string == key.id,
      key.key.verifies(token.signature, of: Array(token.signingInput))
    else { return false }
    guard claims["aud"]?.string == "appstoreconnect-v1", claims["iss"]?.string == key.issuer,
      claims["bid"]?.string == bundleId, let end = claims["exp"]?.integer
    else { return false }
    // Apple's libraries for Python and Java send no iat.
    let issued = claims["iat"]
    guard let start = issued == nil ? now : issued?.integer else { return false }
    return start <= now && now < end && end - start <= Self.longestLife
  }

  private static func object(_ text: [UInt8]?) -> JSONElement? {
    guard let text, let root = try? JSONDocument(parsing: text).root, root.kind == .object else {
      return nil
    }
    return root
  }
}
