import COpenSSL

/// A P-256 public key, ready to verify ES256 (RFC 7518 section 3.4). Stays on its thread.
package final class VerifyingKey {
  /// Signatures after which the table would have paid for itself.
  package static let pays = 520

  private let context: OpaquePointer
  /// How many signatures the table still has to wait for.
  private var wait: Int
  private(set) var table: KeyTable?

  /// The key of a certificate that `ChainPolicy` has proven. The first signature after `tableAfter`
  /// others is the first to be proven with a table.
  package init(
    of certificate: Certificate, tableAfter: Int = VerifyingKey.pays
  ) throws(ProofFailure) {
    wait = tableAfter
    guard let key = X509_get0_pubkey(certificate.handle),
      let context = EVP_PKEY_CTX_new_from_pkey(nil, key, nil)
    else {
      ERR_clear_error()
      throw .untrusted("leaf_key")
    }
    self.context = context
    guard EVP_PKEY_verify_init(context) == 1 else {
      ERR_clear_error()
      throw .untrusted("leaf_key")
    }
  }

  deinit { EVP_PKEY_CTX_free(context) }

  /// Whether `signature`, R and S of 32 bytes each, is this key's over a SHA-256 digest.
  ///
  /// What its table does not prove, OpenSSL judges alone, and exactly 1 is success: it answers 0
  /// for a wrong signature and negative values for some impossible ones (EVP_PKEY_verify(3)).
  package func verifies(_ signature: [UInt8], over digest: [UInt8]) -> Bool {
    guard signature.count == 64 else { return false }
    if wait == 0 { table = KeyTable(point[...]) }
    wait -= 1
    if let table, table.proves(signature, over: digest) { return true }
    let encoded = Self.derSignature(signature)
    let verdict = EVP_PKEY_verify(context, encoded, encoded.count, digest, digest.count)
    if verdict != 1 { ERR_clear_error() }
    return verdict == 1
  }

  /// The key in the form its certificate has (SEC 1 section 2.3.3), nearly always uncompressed;
  /// empty where it cannot be had.
  var point: [UInt8] {
    [UInt8](unsafeUninitializedCapacity: 65) { buffer, count in
      let key = EVP_PKEY_CTX_get0_pkey(context)
      let taken = EVP_PKEY_get_octet_string_param(
        key, OSSL_PKEY_PARAM_PUB_KEY, buffer.baseAddress, buffer.count, &count)
      if taken != 1 { count = 0 }
    }
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
