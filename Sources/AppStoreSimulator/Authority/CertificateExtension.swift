public import SignedData

/// One extension of a certificate (RFC 5280 section 4.2). Any identifier and any bytes are
/// possible, so that wrong extensions can be made as easily as right ones.
public struct CertificateExtension: Sendable, Equatable {
  public var oid: String
  var critical: Bool
  /// The content of the extension's OCTET STRING.
  var der: [UInt8]

  public init(oid: String, critical: Bool = false, der: [UInt8]) {
    self.oid = oid
    self.critical = critical
    self.der = der
  }

  /// Bits of key usage, most significant first (RFC 5280 section 4.2.1.3).
  public enum KeyUsage: UInt8, Sendable {
    case digitalSignature = 0x80
    case keyCertSign = 0x04
    case cRLSign = 0x02
  }

  /// Identifies the leaf that signs App Store data.
  public static let receiptSigningMarker = "1.2.840.113635.100.6.11.1"
  /// Identifies Apple's Worldwide Developer Relations intermediate.
  public static let intermediateMarker = "1.2.840.113635.100.6.2.1"

  /// A marker as Apple makes it: not critical, with NULL as content.
  public static func marker(_ oid: String) -> CertificateExtension {
    CertificateExtension(oid: oid, der: [0x05, 0x00])
  }

  /// RFC 5280 section 4.2.1.9. `ca: false` is the default value, which DER leaves out, so that the
  /// SEQUENCE is empty.
  public static func basicConstraints(
    ca: Bool, pathLength: UInt8? = nil, critical: Bool = true
  ) -> CertificateExtension {
    let parts =
      (ca ? DERWriter.boolean(true) : []) + (pathLength.map { DERWriter.integer([$0]) } ?? [])
    return CertificateExtension(
      oid: "2.5.29.19", critical: critical, der: DERWriter.sequence(parts))
  }

  /// RFC 5280 section 4.2.1.3.
  public static func keyUsage(
    _ usages: [KeyUsage], critical: Bool = true
  ) -> CertificateExtension {
    let bits = usages.reduce(0) { $0 | $1.rawValue }
    return CertificateExtension(
      oid: "2.5.29.15", critical: critical,
      der: DERWriter.bits([bits], unused: UInt8(min(7, bits.trailingZeroBitCount))))
  }

  /// The first 20 bytes of SHA-256 over the SubjectPublicKeyInfo; RFC 5280 section 4.2.1.2 leaves
  /// the method open.
  ///
  /// - Throws: `SigningError` if OpenSSL cannot export the key.
  public static func subjectKeyIdentifier(
    _ key: SigningKey
  ) throws(SigningError) -> CertificateExtension {
    CertificateExtension(oid: "2.5.29.14", der: DERWriter.octets(try identifier(key)))
  }

  /// Identifies the key that signs the certificate (RFC 5280 section 4.2.1.1).
  ///
  /// - Throws: `SigningError` if OpenSSL cannot export the key.
  public static func authorityKeyIdentifier(
    _ issuer: SigningKey
  ) throws(SigningError) -> CertificateExtension {
    let identifier = DERWriter.element(0x80, try identifier(issuer))
    return CertificateExtension(oid: "2.5.29.35", der: DERWriter.sequence(identifier))
  }

  /// A policy with a notice for human readers, as Apple's leaf has one.
  static func policy(
    _ oid: String, notice: String, practices: String
  ) -> CertificateExtension {
    let user = DERWriter.sequence(
      DERWriter.oid("1.3.6.1.5.5.7.2.2"), DERWriter.sequence(DERWriter.text(notice)))
    let statement = DERWriter.sequence(
      DERWriter.oid("1.3.6.1.5.5.7.2.1"), DERWriter.ia5(practices))
    let policy = DERWriter.sequence(
      DERWriter.oid(oid), DERWriter.sequence(user, statement))
    return CertificateExtension(oid: "2.5.29.32", der: DERWriter.sequence(policy))
  }

  /// Addresses of the issuer's certificate and of its OCSP responder; a verifier must not fetch
  /// them.
  public static func authorityInformation(issuer: String, ocsp: String) -> CertificateExtension {
    let issuerAt = DERWriter.sequence(
      DERWriter.oid("1.3.6.1.5.5.7.48.2"), DERWriter.element(0x86, Array(issuer.utf8)))
    let ocspAt = DERWriter.sequence(
      DERWriter.oid("1.3.6.1.5.5.7.48.1"), DERWriter.element(0x86, Array(ocsp.utf8)))
    return CertificateExtension(
      oid: "1.3.6.1.5.5.7.1.1", der: DERWriter.sequence(issuerAt, ocspAt))
  }

  /// The address of a revocation list (RFC 5280 section 4.2.1.13).
  public static func revocationList(_ address: String) -> CertificateExtension {
    let name = DERWriter.element(0x86, Array(address.utf8))
    let point = DERWriter.element(0xA0, DERWriter.element(0xA0, name))
    return CertificateExtension(
      oid: "2.5.29.31", der: DERWriter.sequence(DERWriter.sequence(point)))
  }

  private static func identifier(_ key: SigningKey) throws(SigningError) -> [UInt8] {
    Array(SHA256.hash(try key.publicKey()).prefix(20))
  }

  /// Extension ::= SEQUENCE { oid, critical DEFAULT FALSE, OCTET STRING }.
  var encoded: [UInt8] {
    DERWriter.sequence(
      DERWriter.oid(oid), critical ? DERWriter.boolean(true) : [], DERWriter.octets(der))
  }
}
