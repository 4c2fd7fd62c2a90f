import Platform
import SignedData
import Testing

/// Signatures of webhook messages.
@Suite struct WebhookSecretTests {
  /// The example of the libraries of Standard Webhooks (github.com/standard-webhooks, "Verifying").
  @Test func `the published example has the published signature`() throws {
    let secret = try #require(WebhookSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"))
    let signature = try secret.signature(
      id: "msg_p5jXN8AQM9LWM0D4loKWxJek", seconds: 1_614_265_330,
      Array(#"{"test": 2432232314}"#.utf8))
    #expect(signature == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
    #expect(secret.publicKey == nil)
  }

  @Test func `an Ed25519 signature is verified by the public key that is shown`() throws {
    let secret = try #require(WebhookSecret(.generate(isAsymmetric: true)))
    let text = try #require(secret.publicKey)
    let raw = try #require(Base64.decode(String(text.dropFirst(5))))
    let key = try #require(Ed25519PublicKey(raw: raw))
    let signature = try secret.signature(id: "a", seconds: 5, [1, 2])
    let bytes = try #require(Base64.decode(String(signature.dropFirst(4))))
    #expect(text.hasPrefix("whpk_") && signature.hasPrefix("v1a,"))
    #expect(key.verifies(bytes, over: Array("a.5.".utf8) + [1, 2]))
  }

  @Test func `other secrets are refused`() {
    let short = Base64.encode([UInt8](repeating: 1, count: 23))
    let long = Base64.encode([UInt8](repeating: 1, count: 65))
    let seed = Base64.encode([UInt8](repeating: 1, count: 31))
    let pair = Base64.encode([UInt8](repeating: 1, count: 64))
    for text in [
      "", "whsec_", "whsec_%%%%", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
      "whsec_" + String(decoding: short, as: UTF8.self),
      "whsec_" + String(decoding: long, as: UTF8.self),
      "whsk_" + String(decoding: seed, as: UTF8.self),
      "whsk_" + String(decoding: pair, as: UTF8.self),
    ] {
      #expect(WebhookSecret(text) == nil, "\(text.count)")
    }
    #expect(WebhookSecret(.generate()) != nil)
  }
}

extension String {
  fileprivate static func generate(isAsymmetric: Bool = false) -> String {
    WebhookSecret.generate(isAsymmetric: isAsymmetric)
  }
}
