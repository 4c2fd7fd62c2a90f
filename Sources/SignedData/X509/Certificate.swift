import COpenSSL
import Platform

/// An X.509 certificate (RFC 5280), parsed by OpenSSL. For one thread only.
package final class Certificate {
  /// The longest certificate that is accepted, in bytes; Apple's have about 1,100.
  static let maximumBytes = 8192
  /// The longest base64 of a certificate.
  static let maximumTextBytes = (maximumBytes + 2) / 3 * 4
  /// The most DER values in a certificate; Apple's have about 130. OpenSSL takes long for each.
  private static let maximumValues = 512

  let handle: OpaquePointer
  let der: [UInt8]
  let publicKey: PublicKeyInfo
  /// How many certificates named this one as their issuer without its signature.
  private var wrongSignatures = 0
  /// Made when the wrong signatures are many enough.
  private(set) var filter: SignatureFilter?

  /// Parses one certificate in strict DER.
  ///
  /// - Throws: `ProofFailure.untrusted` when the bytes or values are too many, are not strict DER,
  ///   or are no certificate, or when its key is on a curve without a name.
  package init(der: [UInt8]) throws(ProofFailure) {
    guard der.count <= Self.maximumBytes,
      DERShape.isStrict(der[...], maximumValues: Self.maximumValues),
      let publicKey = PublicKeyInfo(of: der)
    else { throw .untrusted("certificate_der") }
    guard publicKey.isPlain else { throw .untrusted("certificate_key") }
    self.publicKey = publicKey
    let parsed = der.withUnsafeBufferPointer { buffer in
      var cursor = buffer.baseAddress
      return d2i_X509(nil, &cursor, buffer.count)
    }
    guard let parsed else {
      ERR_clear_error()
      throw .untrusted("certificate_der")
    }
    handle = parsed
    self.der = der
  }

  /// Parses an entry of `x5c`: base64 of DER (RFC 7515 section 4.1.6). Throws
  /// `ProofFailure.untrusted` for any other text.
  convenience init(text: ArraySlice<UInt8>) throws(ProofFailure) {
    guard let der = Base64.decode(text) else { throw .untrusted("x5c_base64") }
    try self.init(der: der)
  }

  /// Parses a file that holds one certificate in PEM or DER. Throws `ProofFailure.malformed` for
  /// any other content.
  convenience init(file: [UInt8]) throws(ProofFailure) {
    let der = Self.decodePEM(file) ?? file
    do throws(ProofFailure) {
      try self.init(der: der)
    } catch {
      throw .malformed("root_file")
    }
  }

  deinit { X509_free(handle) }

  /// The DER of a certificate in PEM; nil if the text holds none.
  private static func decodePEM(_ file: [UInt8]) -> [UInt8]? {
    guard let input = MemoryInput.open(file) else { return nil }
    guard let certificate = PEM_read_bio_X509(input.handle, nil, nil, nil) else {
      ERR_clear_error()
      return nil
    }
    defer { X509_free(certificate) }
    var bytes = [UInt8](repeating: 0, count: Int(i2d_X509(certificate, nil)))
    bytes.withUnsafeMutableBufferPointer { buffer in
      var cursor = buffer.baseAddress
      i2d_X509(certificate, &cursor)
    }
    return bytes
  }

  // MARK: Properties that ChainPolicy checks

  var version: Int { X509_get_version(handle) + 1 }

  /// Whether the serial number is positive and has at most 20 bytes (RFC 5280 section 4.1.2.2).
  var hasSoundSerialNumber: Bool {
    guard let serial = X509_get0_serialNumber(handle) else { return false }
    return ASN1_STRING_type(serial) == V_ASN1_INTEGER && ASN1_STRING_length(serial) <= 20
  }

  /// How strong the signature algorithm over this certificate is: a collision takes two to the
  /// power of this many operations, for SHA-256 128 (X509_get_signature_info(3)). 0 if it is
  /// unknown.
  var signatureBits: Int32 {
    var securityBits: Int32 = 0
    let isKnown = X509_get_signature_info(handle, nil, nil, &securityBits, nil) == 1
    return isKnown ? securityBits : 0
  }

  /// Whether the key is one of RSA with 2,048 bits or more.
  var hasLongRSAKey: Bool {
    guard let key = X509_get0_pubkey(handle) else { return false }
    return EVP_PKEY_is_a(key, "RSA") == 1 && EVP_PKEY_get_bits(key) >= 2048
  }

  /// Whether finding the private key takes 2^112 operations or more, as with RSA of 2,048 bits
  /// (EVP_PKEY_get_security_bits(3)).
  var hasStrongKey: Bool {
    guard let key = X509_get0_pubkey(handle) else { return false }
    return EVP_PKEY_get_security_bits(key) >= 112
  }

  /// Whether every extension occurs at most once (RFC 5280 section 4.2).
  var hasDistinctExtensions: Bool {
    let count = X509_get_ext_count(handle)
    for index in 0..<max(count, 0) {
      guard let object = X509_EXTENSION_get_object(X509_get_ext(handle, index)),
        X509_get_ext_by_OBJ(handle, object, index) < 0
      else { return false }
    }
    return true
  }

  /// Whether the extension with this dotted object identifier is present and not critical.
  func carriesMarker(_ identifier: String) -> Bool {
    guard let object = OBJ_txt2obj(identifier, 1) else { return false }
    defer { ASN1_OBJECT_free(object) }
    let index = X509_get_ext_by_OBJ(handle, object, -1)
    guard index >= 0 else { return false }
    return X509_EXTENSION_get_critical(X509_get_ext(handle, index)) == 0
  }

  /// The basic constraints; nil if they are absent or cannot be parsed.
  var basicConstraints: (isAuthority: Bool, isCritical: Bool)? {
    var critical: Int32 = 0
    guard let raw = X509_get_ext_d2i(handle, NID_basic_constraints, &critical, nil) else {
      ERR_clear_error()
      return nil
    }
    let constraints = raw.assumingMemoryBound(to: BASIC_CONSTRAINTS.self)
    defer { BASIC_CONSTRAINTS_free(constraints) }
    return (constraints.pointee.ca != 0, critical == 1)
  }

  /// Whether the key usage extension is present and has this bit (`KU_…`).
  func hasKeyUsage(_ bit: Int32) -> Bool {
    has(flag: EXFLAG_KUSAGE) && allowsKeyUsage(bit)
  }

  /// Whether the key usage extension is absent or has this bit (`KU_…`). Without the extension a
  /// key may be used for everything (RFC 5280 section 4.2.1.3).
  func allowsKeyUsage(_ bit: Int32) -> Bool {
    !has(flag: EXFLAG_KUSAGE) || X509_get_key_usage(handle) & UInt32(bit) != 0
  }

  /// Whether the extended key usage names purposes of the standards, as TLS, mail or code signing,
  /// and does not allow any purpose. False without the extension, and if it only names purposes
  /// that OpenSSL does not know.
  var isForOtherPurposes: Bool {
    guard has(flag: EXFLAG_XKUSAGE) else { return false }
    let purposes = X509_get_extended_key_usage(handle)
    return purposes != 0 && purposes & UInt32(XKU_ANYEKU) == 0
  }

  func has(flag: Int32) -> Bool { X509_get_extension_flags(handle) & UInt32(flag) != 0 }

  /// Whether this certificate names `issuer` as its own, which no signature says yet.
  func names(_ issuer: Certificate) -> Bool {
    X509_check_issued(issuer.handle, handle) == X509_V_OK
  }

  /// Whether the signature of this certificate was made with the key of `issuer`. One public-key
  /// operation.
  func isSigned(by issuer: Certificate) -> Bool {
    let result = X509_verify(handle, X509_get0_pubkey(issuer.handle))
    if result != 1 {
      ERR_clear_error()
      issuer.countWrongSignature()
    }
    return result == 1
  }

  private func countWrongSignature() {
    wrongSignatures += 1
    guard wrongSignatures == SignatureFilter.breakEven, let point = publicKey.p384Point else {
      return
    }
    filter = SignatureFilter(point)
  }

  /// Whether the issuer's filter finds the signature of this certificate wrong. False without a
  /// filter: only `isSigned` says that a signature is right.
  func isRefused(byFilterOf issuer: Certificate) -> Bool {
    guard let filter = issuer.filter, let algorithm = ecdsaDigest,
      let parts = DERShape.values(in: der[...]), parts.count == 3,
      let bits = DERShape.content(of: parts[2]), bits.first == 0
    else { return false }
    var digest = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
    var size: UInt32 = 0
    let isDone = parts[0].withUnsafeBytes { body in
      EVP_Digest(body.baseAddress, body.count, &digest, &size, algorithm, nil) == 1
    }
    return isDone && filter.refuses(bits.dropFirst(), over: Array(digest.prefix(Int(size))))
  }

  /// The digest of an ECDSA signature over this certificate; nil for other algorithms.
  private var ecdsaDigest: OpaquePointer? {
    var digest: Int32 = 0
    var algorithm: Int32 = 0
    guard X509_get_signature_info(handle, &digest, &algorithm, nil, nil) == 1,
      algorithm == NID_X9_62_id_ecPublicKey
    else { return nil }
    return EVP_get_digestbyname(OBJ_nid2sn(digest))
  }

  /// From notBefore to notAfter in seconds since 1970, both included (RFC 5280 section 4.1.2.5);
  /// nil if a date cannot be read or the range is empty.
  var validity: ClosedRange<Int64>? {
    guard let from = Self.seconds(X509_get0_notBefore(handle)),
      let to = Self.seconds(X509_get0_notAfter(handle)), from <= to
    else { return nil }
    return from...to
  }

  private static func seconds(_ time: UnsafePointer<ASN1_TIME>?) -> Int64? {
    guard let epoch = ASN1_TIME_set(nil, 0) else { return nil }
    defer { ASN1_STRING_free(epoch) }
    var days: Int32 = 0
    var seconds: Int32 = 0
    guard ASN1_TIME_diff(&days, &seconds, epoch, time) == 1 else {
      ERR_clear_error()
      return nil
    }
    return Int64(days) * 86_400 + Int64(seconds)
  }
}
