import Platform
public import SignedData

/// Makes X.509 certificates (RFC 5280) like the three of Apple's chain, or deliberately wrong ones:
/// every property can be changed before `make`.
///
///     var leaf = try CertificateMaker.leaf(key, issuer: intermediate, issuerKey: above)
///     leaf.extensions.removeAll { $0.oid == CertificateExtension.receiptSigningMarker }
///     let der = try leaf.make(for: key, signedBy: above)
public struct CertificateMaker: Sendable {
  /// One part of a name: the attribute's identifier and its text.
  public struct NamePart: Sendable, Equatable {
    var oid: String
    public var text: String

    public init(oid: String, text: String) {
      self.oid = oid
      self.text = text
    }
  }

  /// The version's number, 1 to 3. DER writes 3 as 2, and leaves 1 out.
  public var version: UInt8 = 3
  /// Magnitude of the serial number, most significant byte first; random if nil.
  var serial: [UInt8]?
  public var subject: [NamePart]
  public var issuer: [NamePart]
  /// Milliseconds since 1970, truncated to seconds; the certificate is valid at both ends too.
  public var notBefore: Int64
  public var notAfter: Int64
  public var digest = SigningKey.Digest.sha384
  /// Written in this order; an empty list leaves the field out.
  public var extensions: [CertificateExtension]

  init(
    subject: [NamePart], issuer: [NamePart], notBefore: Int64, notAfter: Int64,
    extensions: [CertificateExtension] = []
  ) {
    self.subject = subject
    self.issuer = issuer
    self.notBefore = notBefore
    self.notAfter = notAfter
    self.extensions = extensions
  }

  /// The certificate in DER.
  ///
  /// - Throws: `SigningError` if OpenSSL cannot export the key or cannot sign.
  public func make(
    for key: SigningKey, signedBy issuerKey: SigningKey
  ) throws(SigningError) -> [UInt8] {
    // The same identifier is inside and outside the signed part (RFC 5280 section 4.1.1.2).
    let algorithm = Self.algorithm(issuerKey.kind, digest)
    let parts = [
      version > 1 ? DERWriter.element(0xA0, DERWriter.integer([version - 1])) : [],
      DERWriter.integer(serial ?? Self.randomSerial()),
      algorithm,
      Self.name(issuer),
      DERWriter.sequence(Self.time(notBefore), Self.time(notAfter)),
      Self.name(subject),
      try key.publicKey(),
      extensions.isEmpty
        ? []
        : DERWriter.element(0xA3, DERWriter.sequence(extensions.flatMap(\.encoded))),
    ]
    let body = DERWriter.sequence(parts.flatMap(\.self))
    let signature = try issuerKey.signDER(body, digest: digest)
    return DERWriter.sequence(body, algorithm, DERWriter.bits(signature))
  }

  /// The certificate in PEM (RFC 7468 section 5).
  public static func pem(_ der: [UInt8]) -> [UInt8] {
    var text = Array("-----BEGIN CERTIFICATE-----\n".utf8)
    var rest = Base64.encode(der)[...]
    while !rest.isEmpty {
      text += rest.prefix(64)
      text.append(0x0A)
      rest = rest.dropFirst(64)
    }
    return text + Array("-----END CERTIFICATE-----\n".utf8)
  }

  /// The certificate in a PEM text. Returns nil if the text is not exactly one certificate.
  public static func der(pem: [UInt8]) -> [UInt8]? {
    let lines = pem.split(separator: 0x0A)
    guard lines.first?.starts(with: "-----BEGIN CERTIFICATE-----".utf8) == true,
      lines.last?.starts(with: "-----END CERTIFICATE-----".utf8) == true
    else { return nil }
    return Base64.decode(
      String(decoding: lines.dropFirst().dropLast().flatMap { $0 }, as: UTF8.self))
  }

  private static func randomSerial() -> [UInt8] {
    // Positive and at most 20 bytes (RFC 5280 section 4.1.2.2).
    [UInt8.random(in: 0x01...0x7F)] + (0..<15).map { _ in UInt8.random(in: 0...0xFF) }
  }

  /// AlgorithmIdentifier: RFC 5758 section 3.2, RFC 4055 section 5, RFC 8410 section 3.
  private static func algorithm(_ kind: SigningKey.Kind, _ digest: SigningKey.Digest) -> [UInt8] {
    let (ecdsa, rsa) =
      switch digest {
      case .sha1: ("1", "5")
      case .sha256: ("3.2", "11")
      case .sha384: ("3.3", "12")
      case .sha512: ("3.4", "13")
      }
    return switch kind {
    case .ed25519: DERWriter.sequence(DERWriter.oid("1.3.101.112"))
    case .p256, .p384: DERWriter.sequence(DERWriter.oid("1.2.840.10045.4.\(ecdsa)"))
    case .rsa2048:
      DERWriter.sequence(DERWriter.oid("1.2.840.113549.1.1.\(rsa)"), [0x05, 0x00])
    }
  }

  /// A name with one attribute in each set, in the given order (RFC 5280 section 4.1.2.4).
  private static func name(_ parts: [NamePart]) -> [UInt8] {
    let sets = parts.map { part in
      // A country is a PrintableString (RFC 5280 appendix A.1), all other parts are UTF8String.
      let text = part.oid == "2.5.4.6" ? DERWriter.printable(part.text) : DERWriter.text(part.text)
      return DERWriter.set(DERWriter.sequence(DERWriter.oid(part.oid), text))
    }
    return DERWriter.sequence(sets.flatMap(\.self))
  }

  /// UTCTime until 2049, GeneralizedTime after that (RFC 5280 section 4.1.2.5).
  private static func time(_ milliseconds: Int64) -> [UInt8] {
    let time = CivilTime(milliseconds: milliseconds)
    let second = time.millisecondOfDay / 1000
    let rest = [time.month, time.dayOfMonth, second / 3600, second / 60 % 60, second % 60]
    let isShort = (1950..<2050).contains(time.year)
    let digits = (isShort ? [time.year % 100] : [time.year / 100, time.year % 100]) + rest
    let text = digits.map { $0 < 10 ? "0\($0)" : "\($0)" }.joined() + "Z"
    return DERWriter.element(isShort ? 0x17 : 0x18, Array(text.utf8))
  }
}
