import COpenSSL

/// A P-256 public key that verifies ES256 (RFC 7518 section 3.4). For one thread only.
package final class VerifyingKey {
  /// Signatures after which a table would have saved the time that making it takes: 26 ms, at 50 µs
  /// each.
  static let tableBreakEven = 520

  private let context: OpaquePointer
  /// Signatures still to verify before the table is made; negative after that.
  private var signaturesUntilTable: Int
  private(set) var table: KeyTable?

  /// - Parameters:
  ///   - certificate: one that `ChainPolicy` has proven.
  ///   - tableAfter: how many signatures are verified before the table is made.
  /// - Throws: `ProofFailure.untrusted` when OpenSSL cannot use the key.
  package init(
    of certificate: Certificate, tableAfter: Int = VerifyingKey.tableBreakEven
  ) throws(ProofFailure) {
    signaturesUntilTable = tableAfter
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

  /// Whether `signature`, R and S of 32 bytes each, is a signature by this key over a SHA-256
  /// digest.
  ///
  /// A signature that the table does not prove is verified again by OpenSSL alone. Only the result
  /// 1 is success: OpenSSL returns 0 for a wrong signature and negative values for some malformed
  /// ones (EVP_PKEY_verify(3)).
  package func verifies(_ signature: [UInt8], over digest: [UInt8]) -> Bool {
    guard signature.count == 64 else { return false }
    if signaturesUntilTable == 0 { table = KeyTable(point[...]) }
    signaturesUntilTable -= 1
    if let table, table.proves(signature, over: digest) { return true }
    let encoded = Self.derSignature(signature)
    let verdict = EVP_PKEY_verify(context, encoded, encoded.count, digest, digest.count)
    if verdict != 1 { ERR_clear_error() }
    return verdict == 1
  }

  /// The key's point in the form that the certificate has (SEC 1 section 2.3.3), nearly always
  /// uncompressed; empty if OpenSSL does not return it.
  var point: [UInt8] {
    [UInt8](unsafeUninitializedCapacity: 65) { buffer, count in
      let key = EVP_PKEY_CTX_get0_pkey(context)
      let result = EVP_PKEY_get_octet_string_param(
        key, OSSL_PKEY_PARAM_PUB_KEY, buffer.baseAddress, buffer.count, &count)
      if result != 1 { count = 0 }
    }
  }

  /// R ‖ S as the SEQUENCE of two INTEGERs that OpenSSL expects (RFC 3279 section 2.2.3).
  static func derSignature(_ raw: [UInt8]) -> [UInt8] {
    let body = integer(raw[..<32]) + integer(raw[32...])
    return [0x30, UInt8(body.count)] + body
  }

  private static func integer(_ raw: ArraySlice<UInt8>) -> [UInt8] {
    var digits = Array(raw.drop { $0 == 0 })
    if (digits.first ?? 0x80) >= 0x80 { digits.insert(0, at: 0) }
    return [0x02, UInt8(digits.count)] + digits
  }
}
