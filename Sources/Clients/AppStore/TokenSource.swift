import Platform
import SignedData
import StrictJSON
import Synchronization

/// Makes the bearer tokens of one app, and reuses each until it is old.
///
/// A token is a JWT (RFC 7519) signed with ES256 (RFC 7518 section 3.4). Source of its members:
/// developer.apple.com/documentation/appstoreserverapi/generating-json-web-tokens-for-api-requests.
final class TokenSource: Sendable {
  /// Seconds from `iat` to `exp`. Apple refuses more than 3600.
  static let lifetime: Int64 = 900
  /// Seconds that `iat` is set back, because Apple refuses a token from the future and our clock
  /// may be ahead.
  static let allowance: Int64 = 60
  /// Seconds after which a token is not used any more.
  static let renewal: Int64 = 600

  private struct Token { let text: String, madeAt: Int64 }

  private let key: AppStoreKey
  private let bundleId: String
  private let current = Mutex<Token?>(nil)

  init(_ key: AppStoreKey, bundleId: String) {
    self.key = key
    self.bundleId = bundleId
  }

  /// The token to use now.
  ///
  /// - Parameter now: milliseconds since 1970.
  /// - Throws: `SigningError` if OpenSSL cannot sign.
  func token(at now: Int64) throws(SigningError) -> String {
    let seconds = now / 1000
    return try current.withLock { (current) throws(SigningError) in
      // One from the future was made before the clock was set back.
      if let token = current, (0..<Self.renewal).contains(seconds - token.madeAt) {
        return token.text
      }
      let text = try make(at: seconds)
      current = Token(text: text, madeAt: seconds)
      return text
    }
  }

  /// Makes the next call of `token` return another token than this one, which Apple has refused.
  func discard(_ text: String) {
    current.withLock { if $0?.text == text { $0 = nil } }
  }

  private func make(at seconds: Int64) throws(SigningError) -> String {
    let header = JSONValue.object([
      ("alg", .string("ES256")), ("kid", .string(key.keyId)), ("typ", .string("JWT")),
    ])
    let issuedAt = seconds - Self.allowance
    let claims = JSONValue.object([
      ("iss", .string(key.issuerId)), ("iat", .integer(issuedAt)),
      ("exp", .integer(issuedAt + Self.lifetime)), ("aud", .string("appstoreconnect-v1")),
      ("bid", .string(bundleId)),
    ])
    var text = Base64URL.encode(header.bytes) + [UInt8(ascii: ".")]
    text += Base64URL.encode(claims.bytes)
    let signature = try key.signing.sign(text)
    text += [UInt8(ascii: ".")] + Base64URL.encode(signature)
    return String(decoding: text, as: UTF8.self)
  }
}
