/// The three certificates of Apple's chain in shape and size, under names that are nobody's: a
/// P-384 root, a P-384 intermediate with path length 0, a P-256 leaf, all signed with SHA-384.
extension CertificateMaker {
  /// Long enough that every simulated history is provable at its signedDate: 2010 to 2050.
  public static let longValidity: ClosedRange<Int64> = 1_262_304_000_000...2_524_607_999_000

  public static func root(_ key: SigningKey) throws(SigningError) -> CertificateMaker {
    let name = self.name("Simulated Root CA - G3", unit: "Simulated Certification Authority")
    return CertificateMaker(
      subject: name, issuer: name,
      notBefore: longValidity.lowerBound, notAfter: longValidity.upperBound,
      extensions: [
        try .subjectKeyIdentifier(key),
        .basicConstraints(ca: true),
        .keyUsage([.keyCertSign, .cRLSign]),
      ])
  }

  public static func intermediate(
    _ key: SigningKey, issuer: CertificateMaker, issuerKey: SigningKey
  ) throws(SigningError) -> CertificateMaker {
    CertificateMaker(
      subject: name("Simulated Developer Relations Certification Authority", unit: "S6"),
      issuer: issuer.subject,
      notBefore: longValidity.lowerBound, notAfter: longValidity.upperBound,
      extensions: [
        .basicConstraints(ca: true, pathLength: 0),
        try .authorityKeyIdentifier(issuerKey),
        .authorityInformation(
          issuer: "http://certs.simulator.invalid/root-ca-g3.der",
          ocsp: "http://ocsp.simulator.invalid/ocsp03-root-ca-g3"),
        .revocationList("http://crl.simulator.invalid/root-ca-g3.crl"),
        try .subjectKeyIdentifier(key),
        .keyUsage([.keyCertSign, .cRLSign]),
        .marker(CertificateExtension.intermediateMarker),
      ])
  }

  public static func leaf(
    _ key: SigningKey, issuer: CertificateMaker, issuerKey: SigningKey
  ) throws(SigningError) -> CertificateMaker {
    CertificateMaker(
      subject: name(
        "Simulated ECC Mac App Store and iTunes Store Receipt Signing",
        unit: "Simulated Developer Relations"),
      issuer: issuer.subject,
      notBefore: longValidity.lowerBound, notAfter: longValidity.upperBound,
      extensions: [
        .basicConstraints(ca: false),
        try .authorityKeyIdentifier(issuerKey),
        .authorityInformation(
          issuer: "http://certs.simulator.invalid/developer-relations-s6.der",
          ocsp: "http://ocsp.simulator.invalid/ocsp03-developer-relations-s602"),
        .policy(
          "1.3.6.1.4.1.99999.1.1",
          notice: "This certificate was made by a simulator on this machine for tests alone. "
            + "It speaks for nobody, proves nothing about any purchase, and a service that takes "
            + "real money must never be configured to trust the root above it.",
          practices: "http://www.simulator.invalid/certificate-practices/"),
        try .subjectKeyIdentifier(key),
        .keyUsage([.digitalSignature]),
        .marker(CertificateExtension.receiptSigningMarker),
      ])
  }

  private static func name(_ common: String, unit: String) -> [NamePart] {
    [
      NamePart(oid: "2.5.4.3", text: common),
      NamePart(oid: "2.5.4.11", text: unit),
      NamePart(oid: "2.5.4.10", text: "Subledger Simulator"),
      NamePart(oid: "2.5.4.6", text: "US"),
    ]
  }
}
