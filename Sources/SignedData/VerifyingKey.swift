import COpenSSL

/// A P-256 public key, ready to verify ES256 (RFC 7518 section 3.4). Stays on its thread.
package final class VerifyingKey {
  private let context: OpaquePointer

  /// The key of a certificate that `ChainPolicy` has proven.
  package init(of certificate: Certificate) throws(ProofFailure) {
    guard let key = X509_get0_pubkey(certificate.handle),
      let context = EVP_PKEY_CTX_new_from_pkey(nil, key, nil)
    else {
      ERR_clear_error()
      throw .untrusted("leaf_key")
    }
    self.context = context
    guard EVP_PKEY_verify_init(context) == 1 else { throw .untrusted("leaf_key") }
  }

  deinit { EVP_PKEY_CTX_free(context) }

  /// Whether `signature`, R and S of 32 bytes each, is this key's over a SHA-256 digest.
  ///
  /// Exactly 1 is success: OpenSSL answers 0 for a wrong signature and negative values for some
  /// impossible ones (EVP_PKEY_verify(3)).
  package func verifies(_ signature: [UInt8], over digest: [UInt8]) -> Bool {
    guard signature.count == 64 else { return false }
    let encoded = Self.derSignature(signature)
    let verdict = EVP_PKEY_verify(context, encoded, encoded.count, digest, digest.count)
    if verdict != 1 { ERR_clear_error() }
    return verdict == 1
  }

  /// R ‖ S as the SEQUENCE of two INTEGERs that OpenSSL wants (RFC 3279 section 2.2.3).
  private static func derSignature(_ raw: [UInt8]) -> [UInt8] {
    let body = integer(raw[..<32]) + integer(raw[32...])
    return [0x30, UInt8(body.count)] + body
  }

  private static func integer(_ raw: ArraySlice<UInt8>) -> [UInt8] {
    var digits = Array(raw.drop { $0 == 0 })
    if (digits.first ?? 0x80) >= 0x80 { digits.insert(0, at: 0) }
    return [0x02, UInt8(digits.count)] + digits
  }
}
