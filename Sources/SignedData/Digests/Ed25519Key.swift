/// A private Ed25519 key (RFC 8032): what signs the head of a journal, in the name of its owner.
public struct Ed25519Key: Sendable {
  public let publicKey: Ed25519PublicKey
  private let key: SigningKey

  /// A new key from the system's randomness.
  public static func generate() throws(SigningError) -> Ed25519Key {
    try Ed25519Key(try SigningKey.generate(.ed25519))
  }

  /// Reads an unencrypted key in PEM (PKCS#8, RFC 8410 section 7).
  ///
  /// - Throws: `unknownKey` for a key of another kind too.
  public init(pem: [UInt8]) throws(SigningError) {
    let key = try SigningKey.read(pem: pem)
    guard key.kind == .ed25519 else { throw .unknownKey }
    try self.init(key)
  }

  private init(_ key: SigningKey) throws(SigningError) {
    let encoded = try key.publicKey()
    guard let publicKey = Ed25519PublicKey(der: encoded) else { throw .failed("read a key") }
    self.publicKey = publicKey
    self.key = key
  }

  /// The key in PEM (PKCS#8), unencrypted: belongs in a file of mode 0600.
  public func pem() throws(SigningError) -> [UInt8] { try key.pem() }

  /// The 64 bytes of the signature (RFC 8032 section 5.1.6): the same for the same bytes.
  public func sign(_ bytes: [UInt8]) throws(SigningError) -> [UInt8] { try key.sign(bytes) }
}
