import COpenSSL

/// A private key that signs: for the simulator and tests, which act as Apple, and for `Ed25519Key`.
///
/// It is in this module, which otherwise only verifies, because this is the only module that
/// imports OpenSSL.
///
/// Several threads may use a key at once: signing only reads it, and every call has its own
/// context.
public final class SigningKey: Sendable {
  /// Apple uses P-256 for the leaf and P-384 for the certificates above it. RSA makes wrong chains
  /// for tests; Ed25519 signs anchors.
  public enum Kind: Sendable, Equatable, CaseIterable { case p256, p384, rsa2048, ed25519 }

  /// The digest of a signature; Apple uses SHA-256 and SHA-384.
  public enum Digest: Sendable, Equatable, CaseIterable { case sha1, sha256, sha384, sha512 }

  public let kind: Kind

  /// `nonisolated(unsafe)` because nothing changes the EVP_PKEY after `init`.
  nonisolated(unsafe) private let key: OpaquePointer

  private init(owning key: OpaquePointer, kind: Kind) {
    self.key = key
    self.kind = kind
  }

  deinit { EVP_PKEY_free(key) }

  /// Generates a key from the system's randomness (EVP_PKEY_keygen(3)).
  ///
  /// - Throws: `SigningError.failed` when OpenSSL cannot generate a key.
  public static func generate(_ kind: Kind) throws(SigningError) -> SigningKey {
    let name =
      switch kind {
      case .p256, .p384: "EC"
      case .rsa2048: "RSA"
      case .ed25519: "ED25519"
      }
    guard let context = EVP_PKEY_CTX_new_from_name(nil, name, nil) else {
      throw .failed("make a \(name) key")
    }
    defer { EVP_PKEY_CTX_free(context) }
    guard EVP_PKEY_keygen_init(context) == 1 else { throw .failed("make a \(name) key") }
    let isSet =
      switch kind {
      case .p256: EVP_PKEY_CTX_set_group_name(context, "P-256")
      case .p384: EVP_PKEY_CTX_set_group_name(context, "P-384")
      case .rsa2048: EVP_PKEY_CTX_set_rsa_keygen_bits(context, 2048)
      case .ed25519: Int32(1)
      }
    var key: OpaquePointer?
    guard isSet == 1, EVP_PKEY_generate(context, &key) == 1, let key else {
      throw .failed("make a \(name) key")
    }
    return SigningKey(owning: key, kind: kind)
  }

  /// The Ed25519 key of a seed (RFC 8032 section 5.1.5).
  ///
  /// - Throws: `SigningError.unknownKey` unless the seed has 32 bytes.
  static func ed25519(seed: [UInt8]) throws(SigningError) -> SigningKey {
    guard seed.count == 32,
      let key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nil, seed, seed.count)
    else { throw .unknownKey }
    return SigningKey(owning: key, kind: .ed25519)
  }

  /// Reads an unencrypted key in PEM (RFC 7468 section 10, or the older SEC 1 form).
  ///
  /// - Throws: `SigningError.unknownKey` when the text holds no unencrypted key of a supported
  ///   kind; `SigningError.failed` when OpenSSL has no memory.
  public static func read(pem: [UInt8]) throws(SigningError) -> SigningKey {
    guard let input = MemoryInput.open(pem) else { throw .failed("read a key") }
    // Without a callback OpenSSL would ask the terminal for the password of an encrypted key.
    guard let key = PEM_read_bio_PrivateKey(input.handle, nil, { _, _, _, _ in -1 }, nil) else {
      ERR_clear_error()
      throw .unknownKey
    }
    guard let kind = kind(of: key) else {
      EVP_PKEY_free(key)
      throw .unknownKey
    }
    return SigningKey(owning: key, kind: kind)
  }

  /// The kind of a key; nil for other algorithms, curves and sizes.
  private static func kind(of key: OpaquePointer) -> Kind? {
    switch EVP_PKEY_get_bits(key) {
    case 256 where isOn("prime256v1", key): .p256
    case 384 where isOn("secp384r1", key): .p384
    case 2048 where EVP_PKEY_is_a(key, "RSA") == 1: .rsa2048
    case _ where EVP_PKEY_is_a(key, "ED25519") == 1: .ed25519
    default: nil
    }
  }

  /// Whether a key is on the curve of this name: other curves have keys of the same size.
  private static func isOn(_ curve: String, _ key: OpaquePointer) -> Bool {
    var name = [CChar](repeating: 0, count: 64)
    var count = 0
    guard EVP_PKEY_is_a(key, "EC") == 1,
      EVP_PKEY_get_group_name(key, &name, name.count, &count) == 1
    else { return false }
    return name.prefix(count).elementsEqual(curve.utf8.map { CChar(bitPattern: $0) })
  }

  /// The private key in PEM (PKCS#8), unencrypted: write it to a file of mode 0600 only.
  ///
  /// - Throws: `SigningError.failed` when OpenSSL cannot encode the key.
  public func pem() throws(SigningError) -> [UInt8] {
    guard let buffer = BIO_new(BIO_s_mem()) else { throw .failed("write a key") }
    defer { BIO_free(buffer) }
    guard PEM_write_bio_PKCS8PrivateKey(buffer, key, nil, nil, 0, nil, nil) == 1 else {
      throw .failed("write a key")
    }
    var text: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 1024)
    while true {
      let count = BIO_read(buffer, &chunk, Int32(chunk.count))
      guard count > 0 else { return text }
      text += chunk.prefix(Int(count))
    }
  }

  /// The public half as a SubjectPublicKeyInfo in DER (RFC 5280 section 4.1.2.7).
  ///
  /// - Throws: `SigningError.failed` when OpenSSL cannot encode the key.
  public func publicKey() throws(SigningError) -> [UInt8] {
    var raw: UnsafeMutablePointer<UInt8>?
    let count = i2d_PUBKEY(key, &raw)
    guard count > 0, let raw else { throw .failed("write a public key") }
    defer { CRYPTO_free(raw, nil, 0) }
    return Array(UnsafeBufferPointer(start: raw, count: Int(count)))
  }

  /// Signs in the form of JWS (RFC 7518 section 3.4): R ‖ S, 64 bytes for a P-256 key (ES256) and
  /// 96 for P-384. RSA and Ed25519 keys give their signature unchanged.
  ///
  /// - Throws: `SigningError.failed` when OpenSSL cannot sign.
  public func sign(
    _ bytes: [UInt8], digest: Digest = .sha256
  ) throws(SigningError) -> [UInt8] {
    let signature = try signDER(bytes, digest: digest)
    let width: Int
    switch kind {
    case .p256: width = 32
    case .p384: width = 48
    case .rsa2048, .ed25519: return signature
    }
    // SEQUENCE { INTEGER r, INTEGER s }; below 128 bytes, so every length is one byte.
    let second = 4 + Int(signature[3])
    let r = signature[4..<second]
    let s = signature[(second + 2)...]
    return Self.pad(r, width) + Self.pad(s, width)
  }

  /// Whether `signature`, R ‖ S in 64 bytes, is a signature by this P-256 key over SHA-256.
  package func verifies(_ signature: [UInt8], of bytes: [UInt8]) -> Bool {
    guard kind == .p256, signature.count == 64, let context = EVP_MD_CTX_new() else {
      return false
    }
    defer { EVP_MD_CTX_free(context) }
    let encoded = VerifyingKey.derSignature(signature)
    let isValid =
      EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, key) == 1
      && EVP_DigestVerify(context, encoded, encoded.count, bytes, bytes.count) == 1
    if !isValid { ERR_clear_error() }
    return isValid
  }

  /// Signs in the form of X.509: ECDSA signatures in DER (RFC 3279 section 2.2.3).
  ///
  /// - Throws: `SigningError.failed` when OpenSSL cannot sign.
  package func signDER(_ bytes: [UInt8], digest: Digest) throws(SigningError) -> [UInt8] {
    guard let context = EVP_MD_CTX_new() else { throw .failed("sign") }
    defer { EVP_MD_CTX_free(context) }
    // The digest is part of Ed25519, so none may be given.
    let algorithm = kind == .ed25519 ? nil : Self.algorithm(digest)
    var size = 512
    var signature = [UInt8](repeating: 0, count: size)
    guard EVP_DigestSignInit(context, nil, algorithm, nil, key) == 1,
      EVP_DigestSign(context, &signature, &size, bytes, bytes.count) == 1
    else { throw .failed("sign") }
    return Array(signature.prefix(size))
  }

  /// The digest of `bytes`.
  ///
  /// - Throws: `SigningError.failed` when OpenSSL does not have the algorithm.
  package static func hash(_ bytes: [UInt8], _ digest: Digest) throws(SigningError) -> [UInt8] {
    var hash = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
    var size: UInt32 = 0
    guard EVP_Digest(bytes, bytes.count, &hash, &size, algorithm(digest), nil) == 1 else {
      throw .failed("hash")
    }
    return Array(hash.prefix(Int(size)))
  }

  /// Pointers to static tables of OpenSSL, never freed.
  private static func algorithm(_ digest: Digest) -> OpaquePointer? {
    switch digest {
    case .sha1: EVP_sha1()
    case .sha256: EVP_sha256()
    case .sha384: EVP_sha384()
    case .sha512: EVP_sha512()
    }
  }

  /// A DER integer as exactly `width` bytes: without its sign byte, with leading zeros.
  private static func pad(_ integer: ArraySlice<UInt8>, _ width: Int) -> [UInt8] {
    let digits = integer.drop { $0 == 0 }
    return [UInt8](repeating: 0, count: width - digits.count) + digits
  }
}
