import COpenSSL

/// The requirements for a certificate chain of the App Store.
///
/// OpenSSL checks signatures, names, dates, path lengths, name constraints and unknown critical
/// extensions (RFC 5280 section 6). The rest is checked here, one property at a time, because
/// OpenSSL by itself accepts missing Apple markers, a certificate authority as leaf, other key
/// usages, other keys, and chains of two.
///
/// Apple may issue new certificates at any time, and a requirement that they do not meet refuses
/// every notification. So each requirement names what it prevents, or which of Apple's App Store
/// Server Libraries has it too. The strict ones are that for Swift (with swift-certificates) and
/// that for Python (with OpenSSL's `X509_STRICT`). Not required, because no forgery follows: key
/// identifiers, a key usage of the leaf, certain names, lifetimes, and algorithms of the
/// certificates above the leaf.
struct ChainPolicy {
  /// What the leaf signs.
  enum Use {
    /// JWS: P-256, and digests as strong as SHA-256.
    case jws
    /// Receipts: RSA of 2,048 bits or more. The App Store signed certificates with SHA-1 until
    /// 2023, and the receipts under them remain genuine.
    case receipt

    /// How many bits of work the forgery of a certificate's signature must take at least, as
    /// OpenSSL counts: SHA-1 has 63, MD5 has 39.
    var signatureBits: Int32 { self == .jws ? 128 : 63 }
    /// OpenSSL's security level: from 1 on it takes no SHA-1 (X509_VERIFY_PARAM_set_auth_level(3)).
    var securityLevel: Int32 { self == .jws ? 2 : 0 }
  }

  private let use: Use

  init(_ use: Use = .jws) { self.use = use }

  /// How many paths OpenSSL has validated. Each takes up to two public-key operations of an
  /// authority.
  private(set) var pathChecks = 0
  /// How many signatures of certificates were checked besides, each one public-key operation.
  private(set) var signatureChecks = 0
  /// How many of these the issuer's filter refused, so that OpenSSL was not asked.
  private(set) var filteredSignatures = 0

  private static let leafMarker = "1.2.840.113635.100.6.11.1"
  private static let intermediateMarker = "1.2.840.113635.100.6.2.1"

  /// A path that was proven.
  struct Path {
    let root: Certificate
    /// The seconds since 1970 at which every certificate of the path is valid.
    let window: ClosedRange<Int64>
  }

  /// Requires of an intermediate all that does not depend on the leaf. Costs one public-key
  /// operation of an authority.
  ///
  /// - Throws: `ProofFailure.untrusted` with the code of the first requirement that is not met.
  mutating func requireIntermediate(
    _ intermediate: Certificate, of roots: [Certificate]
  ) throws(ProofFailure) {
    try require(intermediate)
    try Self.requireIntermediate(intermediate)
    guard !roots.isEmpty else { throw .untrusted("chain_root") }
    for root in roots where isSigned(intermediate, by: root) { return }
    throw .untrusted("chain_path")
  }

  /// Proves the path leaf → intermediate → one of `roots`, all valid at one time. A leaf that the
  /// intermediate did not sign costs one public-key operation of an authority.
  ///
  /// - Parameters:
  ///   - intermediate: meets `requireIntermediate`.
  ///   - seconds: the time, since 1970; nil for any.
  /// - Throws: `ProofFailure.untrusted` with the code of the first requirement that is not met;
  ///   `chain_dates` if the path may be proven at another date.
  mutating func prove(
    leaf: Certificate, intermediate: Certificate, roots: [Certificate], at seconds: Int64?
  ) throws(ProofFailure) -> Path {
    try require(leaf)
    try requireLeaf(leaf)
    var failure = ProofFailure.untrusted("chain_root")
    for root in roots {
      guard let window = Self.window(of: [leaf, intermediate, root]) else {
        if failure != .untrusted("chain_dates") { failure = .untrusted("certificate_dates") }
        continue
      }
      if let seconds, !window.contains(seconds) {
        failure = .untrusted("chain_dates")
        continue
      }
      // For OpenSSL the last second is no longer valid (X509_cmp_time(3)). By RFC 5280 it is, and
      // the prover, which uses the window alone for a known chain, must give the same result.
      let moment = min(seconds ?? .max, window.upperBound - 1)
      if isSigned(leaf, by: intermediate), isPath(leaf, intermediate, root, moment) {
        return Path(root: root, window: window)
      }
      if failure != .untrusted("chain_dates") { failure = .untrusted("chain_path") }
    }
    throw failure
  }

  private func require(_ certificate: Certificate) throws(ProofFailure) {
    // Only version 3 has extensions (RFC 5280 section 4.1.2.9), and Apple's markers are extensions.
    guard certificate.version == 3 else { throw .untrusted("certificate_version") }
    // RFC 5280 section 4.1.2.2. Every public authority keeps to it, because the programs that read
    // certificates reject or misread other numbers.
    guard certificate.hasSoundSerialNumber else { throw .untrusted("certificate_serial") }
    // Against forgery by collisions, as with MD5, and with SHA-1 where it is not in use any more.
    // No list of algorithms: the authorities may change to any that OpenSSL verifies.
    guard certificate.signatureBits >= use.signatureBits else {
      throw .untrusted("certificate_signature")
    }
    // RFC 5280 section 4.2. Of two equal extensions, two programs may read different ones. The
    // Swift library refuses them too.
    guard certificate.hasDistinctExtensions else { throw .untrusted("certificate_extensions") }
    // OpenSSL could not read an extension that it knows, so that no check below is reliable. Its
    // own path validation fails as well, and with it the Python library.
    guard !certificate.has(flag: EXFLAG_INVALID) else { throw .untrusted("certificate_invalid") }
    // All of Apple's libraries compare the dates.
    guard certificate.validity != nil else { throw .untrusted("certificate_dates") }
  }

  private func requireLeaf(_ leaf: Certificate) throws(ProofFailure) {
    // All of Apple's libraries require the marker: Apple's authorities also sign certificates of
    // developers. Marked critical, it is an unknown critical extension to the Swift and Python
    // libraries.
    guard leaf.carriesMarker(Self.leafMarker) else { throw .untrusted("leaf_marker") }
    // An authority's key signs certificates. Its signature under something else was not made by
    // the App Store. No library of Apple checks this; an authority with the leaf's marker would be
    // a mistake.
    guard leaf.basicConstraints?.isAuthority != true else { throw .untrusted("leaf_authority") }
    // If Apple says what the key is for, then signing must be among it. Apple's libraries do not
    // ask, so an absent extension is accepted.
    guard leaf.allowsKeyUsage(KU_DIGITAL_SIGNATURE) else { throw .untrusted("leaf_key_usage") }
    // The same for purposes: a key for TLS or for code does not sign for the App Store. Apple's
    // libraries do not ask, so a purpose of Apple's own, which no standard names, is accepted.
    guard !leaf.isForOtherPurposes else { throw .untrusted("leaf_purpose") }
    // ES256 is defined for P-256 alone (RFC 7518 section 3.4). The Swift library reads the same
    // form alone: a named curve and an uncompressed point. Parameters of the attacker's choice
    // would let him forge a known key (CVE-2020-0601). Receipts are signed with RSA, and keys of
    // less than 2,048 bits can be factored.
    guard use == .jws ? leaf.publicKey.isPlainP256 : leaf.hasLongRSAKey else {
      throw .untrusted("leaf_key")
    }
  }

  private static func requireIntermediate(_ certificate: Certificate) throws(ProofFailure) {
    // As for the leaf: all of Apple's libraries require the marker.
    guard certificate.carriesMarker(intermediateMarker) else {
      throw .untrusted("intermediate_marker")
    }
    // Else a leaf could sign another leaf. That the extension is critical is required by RFC 5280
    // section 4.2.1.9 of every authority.
    guard let constraints = certificate.basicConstraints, constraints.isAuthority,
      constraints.isCritical
    else { throw .untrusted("intermediate_authority") }
    // At the security level of receipts, OpenSSL asks for no length of keys.
    guard certificate.hasStrongKey else { throw .untrusted("intermediate_key") }
    // Here the extension must be present: `X509_STRICT` requires it of authorities.
    guard certificate.hasKeyUsage(KU_KEY_CERT_SIGN) else {
      throw .untrusted("intermediate_key_usage")
    }
  }

  private static func window(of chain: [Certificate]) -> ClosedRange<Int64>? {
    var window = Int64.min...Int64.max
    for certificate in chain {
      guard let validity = certificate.validity, validity.overlaps(window) else { return nil }
      window = validity.clamped(to: window)
    }
    return window
  }

  private mutating func isSigned(_ certificate: Certificate, by issuer: Certificate) -> Bool {
    guard certificate.names(issuer) else { return false }
    signatureChecks += 1
    if certificate.isRefused(byFilterOf: issuer) {
      filteredSignatures += 1
      return false
    }
    return certificate.isSigned(by: issuer)
  }

  /// OpenSSL's own verification, with one trusted and one untrusted certificate. For JWS it has
  /// security level 2 (no SHA-1, no RSA under 2,048 bits: such signatures can be forged). All of
  /// Apple's libraries require signatures, names and a chain of three. Nothing is fetched: no
  /// lookup method is set.
  private mutating func isPath(
    _ leaf: Certificate, _ intermediate: Certificate, _ root: Certificate, _ seconds: Int64
  ) -> Bool {
    pathChecks += 1
    guard let store = X509_STORE_new(), let context = X509_STORE_CTX_new(),
      let untrusted = subledger_certificates_new()
    else { return false }
    defer {
      X509_STORE_CTX_free(context)
      X509_STORE_free(store)
      subledger_certificates_free(untrusted)
      ERR_clear_error()
    }
    guard X509_STORE_add_cert(store, root.handle) == 1,
      subledger_certificates_push(untrusted, intermediate.handle) == 1,
      X509_STORE_CTX_init(context, store, leaf.handle, untrusted) == 1,
      let parameters = X509_STORE_CTX_get0_param(context)
    else { return false }
    X509_VERIFY_PARAM_set_time(parameters, time_t(seconds))
    X509_VERIFY_PARAM_set_auth_level(parameters, use.securityLevel)
    guard X509_verify_cert(context) == 1 else { return false }
    return subledger_certificates_count(X509_STORE_CTX_get0_chain(context)) == 3
  }
}
