import COpenSSL

/// SHA-256 (FIPS 180-4) with OpenSSL's EVP interface, of one array or incrementally.
public struct SHA256: ~Copyable {
  /// Fetched once and never freed: a fetch takes longer than the digest of a short text.
  /// `nonisolated(unsafe)` because a fetched EVP_MD is immutable (EVP_MD_fetch(3)).
  nonisolated(unsafe) private static let algorithm = EVP_MD_fetch(nil, "SHA256", nil)

  /// HMAC without a key: HMAC(3) looks its algorithms up in each call, which takes longer than the
  /// code of a message. `nonisolated(unsafe)` because it is only copied.
  nonisolated(unsafe) private static let code: OpaquePointer? = {
    let algorithm = EVP_MAC_fetch(nil, OSSL_MAC_NAME_HMAC, nil)
    defer { EVP_MAC_free(algorithm) }
    let context = EVP_MAC_CTX_new(algorithm)
    var digest = Array("SHA256".utf8CString)
    digest.withUnsafeMutableBufferPointer { digest in
      let parameters = [
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest.baseAddress, 0),
        OSSL_PARAM_construct_end(),
      ]
      _ = EVP_MAC_CTX_set_params(context, parameters)
    }
    return context
  }()

  private let context: OpaquePointer

  /// Ends the process if OpenSSL has no SHA-256 or no memory.
  public init() {
    guard let context = EVP_MD_CTX_new(), EVP_DigestInit_ex2(context, Self.algorithm, nil) == 1
    else { preconditionFailure("OpenSSL has no SHA-256 or no memory") }
    self.context = context
  }

  private init(_ context: OpaquePointer) { self.context = context }

  deinit { EVP_MD_CTX_free(context) }

  /// A copy of the current state, so that a common prefix is hashed only once
  /// (EVP_MD_CTX_copy_ex(3)).
  public func fork() -> SHA256 {
    guard let other = EVP_MD_CTX_new(), EVP_MD_CTX_copy_ex(other, context) == 1 else {
      preconditionFailure("OpenSSL has no memory")
    }
    return SHA256(other)
  }

  /// Hashes `bytes` after those of earlier calls.
  public mutating func update(_ bytes: some Collection<UInt8>) {
    let hashed: Void? = bytes.withContiguousStorageIfAvailable { buffer in
      _ = EVP_DigestUpdate(context, buffer.baseAddress, buffer.count)
    }
    if hashed == nil { update(Array(bytes)) }
  }

  /// The 32 bytes of the digest. Resets the value to its initial state.
  public mutating func finish() -> [UInt8] {
    let digest = [UInt8](unsafeUninitializedCapacity: 32) { buffer, count in
      _ = EVP_DigestFinal_ex(context, buffer.baseAddress, nil)
      count = 32
    }
    _ = EVP_DigestInit_ex2(context, Self.algorithm, nil)
    return digest
  }

  /// The 32 bytes of the digest of `bytes`.
  public static func hash(_ bytes: [UInt8]) -> [UInt8] { hash(slice: bytes[...]) }

  /// The 32 bytes of the digest of a slice, which is not copied.
  public static func hash(slice bytes: ArraySlice<UInt8>) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: 32) { buffer, count in
      let done = bytes.withUnsafeBytes {
        EVP_Digest($0.baseAddress, $0.count, buffer.baseAddress, nil, algorithm, nil)
      }
      precondition(done == 1, "OpenSSL has no SHA-256 or no memory")
      count = 32
    }
  }

  /// HMAC-SHA256 (RFC 2104) of `bytes`: 32 bytes.
  public static func authenticate(_ bytes: [UInt8], key: [UInt8]) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: 32) { buffer, count in
      let context = EVP_MAC_CTX_dup(Self.code)
      defer { EVP_MAC_CTX_free(context) }
      let done =
        EVP_MAC_init(context, key, key.count, nil) == 1
        && EVP_MAC_update(context, bytes, bytes.count) == 1
        && EVP_MAC_final(context, buffer.baseAddress, &count, 32) == 1
      precondition(done, "OpenSSL has no HMAC, no SHA-256 or no memory")
    }
  }

  /// Whether two digests are equal. For digests of secrets: the time taken does not depend on their
  /// content (CRYPTO_memcmp(3)).
  public static func areSame(_ one: [UInt8], _ other: [UInt8]) -> Bool {
    one.count == other.count && CRYPTO_memcmp(one, other, one.count) == 0
  }
}
