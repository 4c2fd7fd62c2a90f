public import SignedData

/// The three certificates of Apple's chain in shape and size, under invented names: a P-384 root, a
/// P-384 intermediate with path length 0 and a P-256 leaf, all signed with SHA-384. Apple's take
/// 583, 794 and 1,076 bytes of DER (Root CA G3, WWDR G6, Prod ECC … Receipt Signing).
extension CertificateMaker {
  /// 2010 to 2049 in milliseconds since 1970: long enough that every simulated history can be
  /// proven at its signed dates.
  static let longValidity: ClosedRange<Int64> = 1_262_304_000_000...2_524_607_999_000

  /// The root, which signs itself and, like Apple's, has no marker extension.
  ///
  /// - Throws: `SigningError` if OpenSSL cannot export the key.
  public static func root(_ key: SigningKey) throws(SigningError) -> CertificateMaker {
    let name = self.name("Simulated Root CA - G3", unit: "Simulated Authority")
    return CertificateMaker(
      subject: name, issuer: name,
      notBefore: longValidity.lowerBound, notAfter: longValidity.upperBound,
      extensions: [
        try .subjectKeyIdentifier(key),
        .basicConstraints(ca: true),
        .keyUsage([.keyCertSign, .cRLSign]),
      ])
  }

  /// The intermediate. Its addresses end in `.invalid` (RFC 2606 section 2), so that none of them
  /// can ever be resolved.
  ///
  /// - Throws: `SigningError` if OpenSSL cannot export a key.
  public static func intermediate(
    _ key: SigningKey, issuer: CertificateMaker, issuerKey: SigningKey
  ) throws(SigningError) -> CertificateMaker {
    CertificateMaker(
      subject: name("Simulated Developer Relations CA", unit: "S6"),
      issuer: issuer.subject,
      notBefore: longValidity.lowerBound, notAfter: longValidity.upperBound,
      extensions: [
        .basicConstraints(ca: true, pathLength: 0),
        try .authorityKeyIdentifier(issuerKey),
        .authorityInformation(
          issuer: "http://certs.simulator.invalid/root.der",
          ocsp: "http://ocsp.simulator.invalid/root"),
        .revocationList("http://crl.simulator.invalid/root.crl"),
        try .subjectKeyIdentifier(key),
        .keyUsage([.keyCertSign, .cRLSign]),
        .marker(CertificateExtension.intermediateMarker),
      ])
  }

  /// The leaf, whose key signs App Store data.
  ///
  /// - Throws: `SigningError` if OpenSSL cannot export a key.
  public static func leaf(
    _ key: SigningKey, issuer: CertificateMaker, issuerKey: SigningKey
  ) throws(SigningError) -> CertificateMaker {
    CertificateMaker(
      subject: name(
        "Simulated Production App Store Purchase Receipt Signing",
        unit: "Simulated Worldwide Developer Relations"),
      issuer: issuer.subject,
      notBefore: longValidity.lowerBound, notAfter: longValidity.upperBound,
      extensions: [
        .basicConstraints(ca: false),
        try .authorityKeyIdentifier(issuerKey),
        .authorityInformation(
          issuer: "http://certs.simulator.invalid/s6.der",
          ocsp: "http://ocsp.simulator.invalid/s602"),
        .policy(
          "1.3.6.1.4.1.99999.1.1",
          // At most 200 characters (RFC 5280 section 4.2.1.4).
          notice: "Made by a simulator for tests and measurements alone: it proves nothing about "
            + "any purchase of anybody. A service that takes real money must never trust the root "
            + "above this certificate.",
          practices: "http://www.simulator.invalid/certificate-authority/practices/"),
        try .subjectKeyIdentifier(key),
        .keyUsage([.digitalSignature]),
        .marker(CertificateExtension.receiptSigningMarker),
      ])
  }

  private static func name(_ common: String, unit: String) -> [NamePart] {
    [
      NamePart(oid: "2.5.4.3", text: common),
      NamePart(oid: "2.5.4.11", text: unit),
      NamePart(oid: "2.5.4.10", text: "Simulator"),
      NamePart(oid: "2.5.4.6", text: "US"),
    ]
  }
}
