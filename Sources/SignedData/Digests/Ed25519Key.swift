/// A private Ed25519 key (RFC 8032), with which the journal's owner signs anchors and bundles.
public struct Ed25519Key: Sendable {
  /// The public half, which verifies the signatures.
  public let publicKey: Ed25519PublicKey
  private let key: SigningKey

  /// Generates a key from the system's randomness.
  ///
  /// - Throws: `SigningError.failed` when OpenSSL cannot generate or encode a key.
  public static func generate() throws(SigningError) -> Ed25519Key {
    try Ed25519Key(try SigningKey.generate(.ed25519))
  }

  /// Reads an unencrypted key in PEM (PKCS#8, RFC 8410 section 7).
  ///
  /// - Throws: `SigningError.unknownKey` when the text is no such key or a key of another kind;
  ///   `SigningError.failed` when OpenSSL has no memory.
  public init(pem: [UInt8]) throws(SigningError) {
    let key = try SigningKey.read(pem: pem)
    guard key.kind == .ed25519 else { throw .unknownKey }
    try self.init(key)
  }

  /// The key of a seed of 32 bytes (RFC 8032 section 5.1.5).
  ///
  /// - Throws: `SigningError.unknownKey` for a seed of another length.
  init(seed: [UInt8]) throws(SigningError) { try self.init(try .ed25519(seed: seed)) }

  private init(_ key: SigningKey) throws(SigningError) {
    let encoded = try key.publicKey()
    guard let publicKey = Ed25519PublicKey(der: encoded) else { throw .failed("read a key") }
    self.publicKey = publicKey
    self.key = key
  }

  /// The key in PEM (PKCS#8), unencrypted: write it to a file of mode 0600 only.
  ///
  /// - Throws: `SigningError.failed` when OpenSSL cannot encode the key.
  public func pem() throws(SigningError) -> [UInt8] { try key.pem() }

  /// Signs bytes. The signature has 64 bytes and is the same for the same bytes (RFC 8032 section
  /// 5.1.6).
  ///
  /// - Throws: `SigningError.failed` when OpenSSL cannot sign.
  public func sign(_ bytes: [UInt8]) throws(SigningError) -> [UInt8] { try key.sign(bytes) }
}
