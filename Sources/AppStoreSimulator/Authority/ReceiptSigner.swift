import Platform
public import SignedData

/// Signs app receipts as the App Store does: PKCS#7 with one signer, an RSA key, and its chain.
public struct ReceiptSigner: Sendable {
  private let key: SigningKey
  /// Signer, intermediate, root, in DER.
  public let chain: [[UInt8]]
  private let issuerAndSerial: [UInt8]

  /// - Parameter chain: the signer's certificate first.
  public init(key: SigningKey, chain: [[UInt8]]) {
    self.key = key
    self.chain = chain
    issuerAndSerial = Self.issuerAndSerial(chain.first ?? [])
  }

  /// The receipt in DER.
  ///
  /// - Parameters:
  ///   - digest: `sha1` or `sha256`.
  ///   - attributed: whether attributes are signed in place of the content; Apple does without.
  /// - Throws: `SigningError` if OpenSSL cannot sign.
  public func sign(
    _ content: [UInt8], digest: SigningKey.Digest = .sha256, attributed: Bool = false
  ) throws(SigningError) -> [UInt8] {
    let algorithm = DERWriter.sequence(DERWriter.oid(Self.identifier(digest)), Self.null)
    var attributes: [UInt8] = []
    var signed = content
    if attributed {
      attributes = Self.attributes(try SigningKey.hash(content, digest))
      signed = DERWriter.set(attributes)
    }
    let signer = DERWriter.sequence(
      DERWriter.integer([1]), issuerAndSerial, algorithm,
      attributes.isEmpty ? [] : DERWriter.element(0xA0, attributes),
      DERWriter.sequence(DERWriter.oid("1.2.840.113549.1.1.1"), Self.null),
      DERWriter.octets(try key.signDER(signed, digest: digest)))
    let signedData = DERWriter.sequence(
      DERWriter.integer([1]), DERWriter.set(algorithm),
      DERWriter.sequence(
        DERWriter.oid(Self.data), DERWriter.element(0xA0, DERWriter.octets(content))),
      DERWriter.element(0xA0, chain.flatMap(\.self)), DERWriter.set(signer))
    return DERWriter.sequence(
      DERWriter.oid("1.2.840.113549.1.7.2"), DERWriter.element(0xA0, signedData))
  }

  private static let data = "1.2.840.113549.1.7.1"
  private static let null: [UInt8] = [0x05, 0x00]

  private static func identifier(_ digest: SigningKey.Digest) -> String {
    switch digest {
    case .sha1: "1.3.14.3.2.26"
    case .sha256: "2.16.840.1.101.3.4.2.1"
    case .sha384: "2.16.840.1.101.3.4.2.2"
    case .sha512: "2.16.840.1.101.3.4.2.3"
    }
  }

  /// The two that RFC 5652 section 5.3 requires, in the order of DER.
  private static func attributes(_ digest: [UInt8]) -> [UInt8] {
    DERWriter.sequence(
      DERWriter.oid("1.2.840.113549.1.9.3"), DERWriter.set(DERWriter.oid(data)))
      + DERWriter.sequence(
        DERWriter.oid("1.2.840.113549.1.9.4"), DERWriter.set(DERWriter.octets(digest)))
  }

  /// IssuerAndSerialNumber (RFC 5652 section 10.2.4), from the fields of a certificate.
  private static func issuerAndSerial(_ certificate: [UInt8]) -> [UInt8] {
    var outer = DERReader(certificate[...])
    var whole = DERReader(outer.next()?.content ?? [])
    var fields = DERReader(whole.next()?.content ?? [])
    let values = (0..<4).compactMap { _ in fields.next()?.encoded }
    guard values.count == 4 else { return [] }
    return DERWriter.sequence(Array(values[3]), Array(values[1]))
  }
}
