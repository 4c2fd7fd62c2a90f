import COpenSSL
import Platform

/// The public half of an `Ed25519Key`: 32 bytes.
public struct Ed25519PublicKey: Sendable, Equatable {
  /// The key in the encoding of RFC 8032 section 5.1.5.
  public let raw: [UInt8]

  /// The start of a SubjectPublicKeyInfo, up to the key: SEQUENCE { SEQUENCE { OID 1.3.101.112 },
  /// BIT STRING of 32 bytes } (RFC 8410 section 4). In DER it is the same for every Ed25519 key.
  private static let prefix: [UInt8] = [
    0x30, 0x2A, 0x30, 0x05, 0x06, 0x03, 0x2B, 0x65, 0x70, 0x03, 0x21, 0x00,
  ]

  /// Returns nil unless there are 32 bytes. A key that is no point of the curve verifies nothing.
  public init?(raw: [UInt8]) {
    guard raw.count == 32 else { return nil }
    self.raw = raw
  }

  /// Reads a SubjectPublicKeyInfo in DER; returns nil unless it is that of an Ed25519 key.
  init?(der: [UInt8]) {
    guard der.starts(with: Self.prefix) else { return nil }
    self.init(raw: Array(der.dropFirst(Self.prefix.count)))
  }

  /// Reads a SubjectPublicKeyInfo in PEM (RFC 7468 section 13), as `openssl pkey -pubout` writes
  /// it. Returns nil if the text holds no Ed25519 public key.
  public init?(pem: [UInt8]) {
    guard let input = MemoryInput.open(pem) else { return nil }
    guard let key = PEM_read_bio_PUBKEY(input.handle, nil, { _, _, _, _ in -1 }, nil) else {
      ERR_clear_error()
      return nil
    }
    defer { EVP_PKEY_free(key) }
    var raw = [UInt8](repeating: 0, count: 32)
    var count = raw.count
    guard EVP_PKEY_is_a(key, "ED25519") == 1,
      EVP_PKEY_get_raw_public_key(key, &raw, &count) == 1, count == 32
    else {
      ERR_clear_error()
      return nil
    }
    self.raw = raw
  }

  /// The key in PEM, with a line feed at the end.
  public var pem: [UInt8] {
    Array("-----BEGIN PUBLIC KEY-----\n".utf8) + Base64.encode(Self.prefix + raw)
      + Array("\n-----END PUBLIC KEY-----\n".utf8)
  }

  /// Whether `signature` is a signature by this key over `bytes`.
  ///
  /// Only the result 1 is success: OpenSSL returns 0 for a wrong signature and negative values for
  /// some malformed ones (EVP_DigestVerify(3)).
  public func verifies(_ signature: [UInt8], over bytes: [UInt8]) -> Bool {
    guard signature.count == 64 else { return false }
    defer { ERR_clear_error() }
    guard let key = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nil, raw, raw.count) else {
      return false
    }
    defer { EVP_PKEY_free(key) }
    guard let context = EVP_MD_CTX_new() else { return false }
    defer { EVP_MD_CTX_free(context) }
    // The digest is part of Ed25519, so none may be given.
    guard EVP_DigestVerifyInit(context, nil, nil, nil, key) == 1 else { return false }
    return EVP_DigestVerify(context, signature, signature.count, bytes, bytes.count) == 1
  }
}
