import Platform

/// A PKCS#7 message with one signer, as App Store receipts are: CMS SignedData (RFC 5652 section 5)
/// in strict DER. Parsing proves nothing.
///
/// Not accepted, because no receipt of the App Store has them: BER, which gives one message many
/// encodings (Xcode writes it for local tests, which Apple does not sign), content outside of the
/// message, revocation lists, several signers, a signer named by a key identifier, and unsigned
/// attributes.
public struct SignedMessage: Sendable {
  /// The longest message that is accepted, in bytes.
  public static let maximumBytes = 2 << 20
  /// A receipt has the three of its chain.
  private static let maximumCertificates = 6

  /// The whole message.
  public let der: [UInt8]
  /// What is signed.
  public let content: ArraySlice<UInt8>
  /// The certificates in the message, each in DER.
  let certificates: [ArraySlice<UInt8>]
  let signer: SignerInfo

  /// - Throws: `ProofFailure.malformed` with `receipt_too_long` for more than `maximumBytes`,
  ///   `receipt_der` for any other structure.
  public init(parsing der: [UInt8]) throws(ProofFailure) {
    guard der.count <= Self.maximumBytes else { throw .malformed("receipt_too_long") }
    guard let parts = Self.parts(der[...]) else { throw .malformed("receipt_der") }
    self.der = der
    (content, certificates, signer) = parts
  }

  /// When the first of its certificates ends, milliseconds since 1970; nil if none can be read.
  public var certificatesEnd: Int64? {
    let ends = certificates.compactMap { der in
      (try? Certificate(der: Array(der)))?.validity?.upperBound
    }
    return ends.min().map { $0 * 1000 }
  }

  /// The bytes from the beginning by which `isLikely` tells.
  public static let startBytes = 18

  /// Whether what begins so may be a message of this form: a SEQUENCE, which is no longer than
  /// 2^32 bytes, with the object identifier of SignedData.
  public static func isLikely(_ start: some Collection<UInt8>) -> Bool {
    let identifier =
      [DERReader.Tag.identifier, UInt8(ObjectIdentifiers.signedData.count)]
      + ObjectIdentifiers.signedData
    return start.first == DERReader.Tag.sequence
      && (2...6).contains { start.dropFirst($0).starts(with: identifier) }
  }

  private typealias Parts = (
    content: ArraySlice<UInt8>, certificates: [ArraySlice<UInt8>], signer: SignerInfo
  )

  /// ContentInfo (section 3), then SignedData (section 5.1).
  private static func parts(_ der: ArraySlice<UInt8>) -> Parts? {
    guard let info = DERReader.only(DERReader.Tag.sequence, in: der) else { return nil }
    var outer = DERReader(info)
    guard
      outer.content(DERReader.Tag.identifier)?.elementsEqual(ObjectIdentifiers.signedData)
        == true,
      let explicit = outer.content(DERReader.Tag.first), outer.isAtEnd,
      let signedData = DERReader.only(DERReader.Tag.sequence, in: explicit)
    else { return nil }
    var fields = DERReader(signedData)
    guard fields.content(DERReader.Tag.integer)?.elementsEqual([1]) == true,
      let algorithms = fields.content(DERReader.Tag.set),
      let encapsulated = fields.content(DERReader.Tag.sequence),
      let content = content(encapsulated),
      let certificates = fields.content(DERReader.Tag.first).flatMap(values),
      certificates.count <= maximumCertificates,
      let signers = fields.content(DERReader.Tag.set), fields.isAtEnd,
      let only = DERReader.only(DERReader.Tag.sequence, in: signers),
      let signer = SignerInfo(only), algorithms.elementsEqual(signer.digestAlgorithm)
    else { return nil }
    return (content, certificates, signer)
  }

  /// EncapsulatedContentInfo (section 5.2) of the type id-data.
  private static func content(_ encapsulated: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
    var fields = DERReader(encapsulated)
    guard fields.content(DERReader.Tag.identifier)?.elementsEqual(ObjectIdentifiers.data) == true,
      let explicit = fields.content(DERReader.Tag.first), fields.isAtEnd
    else { return nil }
    return DERReader.only(DERReader.Tag.octets, in: explicit)
  }

  /// The encoded SEQUENCEs in a set.
  private static func values(_ content: ArraySlice<UInt8>) -> [ArraySlice<UInt8>]? {
    var reader = DERReader(content)
    var values: [ArraySlice<UInt8>] = []
    while !reader.isAtEnd {
      guard let value = reader.next(), value.tag == DERReader.Tag.sequence else { return nil }
      values.append(value.encoded)
    }
    return values
  }
}

/// The contents of the object identifiers that a receipt uses, in DER.
enum ObjectIdentifiers {
  /// 1.2.840.113549.1.7.2, id-signedData (RFC 5652 section 5.1).
  static let signedData: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x07, 0x02]
  /// 1.2.840.113549.1.7.1, id-data (section 4).
  static let data: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x07, 0x01]
  /// 1.2.840.113549.1.9.3, id-contentType (section 11.1).
  static let contentType: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x09, 0x03]
  /// 1.2.840.113549.1.9.4, id-messageDigest (section 11.2).
  static let messageDigest: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x09, 0x04]
  /// 1.3.14.3.2.26, id-sha1 (RFC 3279 section 2.1).
  static let sha1: [UInt8] = [0x2B, 0x0E, 0x03, 0x02, 0x1A]
  /// 2.16.840.1.101.3.4.2.1, id-sha256 (RFC 4055 section 2.1).
  static let sha256: [UInt8] = [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01]
  /// 1.2.840.113549.1.1.1, rsaEncryption (RFC 3279 section 2.2.1).
  static let rsa: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01]
  /// 1.2.840.113549.1.1.5, sha1WithRSAEncryption.
  static let sha1WithRSA: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x05]
  /// 1.2.840.113549.1.1.11, sha256WithRSAEncryption (RFC 4055 section 5).
  static let sha256WithRSA: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x0B]
}
