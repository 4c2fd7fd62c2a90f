import Platform

/// A key with which webhook messages are signed, in the form of Standard Webhooks 1.0.0
/// (github.com/standard-webhooks/standard-webhooks, "Signature scheme").
public struct WebhookSecret: Sendable, Equatable {
  private enum Key {
    case symmetric([UInt8])
    case asymmetric(Ed25519Key)
  }

  private let key: Key
  /// Equal for two secrets that were read from the same text.
  private let digest: [UInt8]

  /// What a secret must be, worded to follow "must be".
  public static let rule =
    "whsec_ and 24 to 64 bytes in base64, or whsk_ and a 32-byte Ed25519 seed in base64"

  /// Reads `whsec_` with a symmetric key, or `whsk_` with the seed of an Ed25519 key, which the
  /// public key may follow. Returns nil for what is against `rule`.
  public init?(_ text: String) {
    guard let mark = text.firstIndex(of: "_"),
      let bytes = Base64.decode(String(text[text.index(after: mark)...]))
    else { return nil }
    switch text[...mark] {
    case "whsec_":
      guard (24...64).contains(bytes.count) else { return nil }
      key = .symmetric(bytes)
    case "whsk_":
      guard bytes.count == 32 || bytes.count == 64,
        let pair = try? Ed25519Key(seed: Array(bytes.prefix(32))),
        bytes.count == 32 || Array(bytes[32...]) == pair.publicKey.raw
      else { return nil }
      key = .asymmetric(pair)
    default: return nil
    }
    digest = SHA256.hash(Array(text.utf8))
  }

  public static func == (one: WebhookSecret, other: WebhookSecret) -> Bool {
    one.digest == other.digest
  }

  /// A new secret as text, from the system's randomness.
  public static func generate(isAsymmetric: Bool = false) -> String {
    var generator = SystemRandomNumberGenerator()
    let bytes = (0..<32).map { _ in UInt8.random(in: 0...255, using: &generator) }
    return (isAsymmetric ? "whsk_" : "whsec_") + text(bytes)
  }

  /// The public key that verifies the signatures, `whpk_…`; nil for a symmetric secret.
  public var publicKey: String? {
    guard case .asymmetric(let pair) = key else { return nil }
    return "whpk_" + Self.text(pair.publicKey.raw)
  }

  /// One signature for the header `webhook-signature`: `v1,…` (HMAC-SHA256) or `v1a,…` (Ed25519).
  ///
  /// - Parameter seconds: when this attempt is made, as Unix time.
  /// - Throws: `SigningError.failed` when OpenSSL cannot sign.
  public func signature(
    id: String, seconds: Int64, _ body: [UInt8]
  ) throws(SigningError) -> String {
    let signed = Array("\(id).\(seconds).".utf8) + body
    switch key {
    case .symmetric(let key):
      return "v1," + Self.text(SHA256.authenticate(signed, key: key))
    case .asymmetric(let pair):
      return "v1a," + Self.text(try pair.sign(signed))
    }
  }

  private static func text(_ bytes: [UInt8]) -> String {
    String(decoding: Base64.encode(bytes), as: UTF8.self)
  }
}
