/// The certificate authorities in which a chain may end.
public struct TrustRoots: Sendable {
  /// SHA-256 of the DER of Apple Root CA – G3 (apple.com/certificateauthority), valid 2014-04-30 to
  /// 2039-04-30.
  public static let appleRootCAG3: [UInt8] = [
    0x63, 0x34, 0x3A, 0xBF, 0xB8, 0x9A, 0x6A, 0x03, 0xEB, 0xB5, 0x7E, 0x9B, 0x3F, 0x5F, 0xA7, 0xBE,
    0x7C, 0x4F, 0x5C, 0x75, 0x6F, 0x30, 0x17, 0xB3, 0xA8, 0xC4, 0x88, 0xC3, 0x65, 0x3E, 0x91, 0x79,
  ]

  /// SHA-256 of the DER of Apple Inc. Root CA (apple.com/certificateauthority), valid 2006-04-25 to
  /// 2035-02-09, in which the chains of receipts end.
  public static let appleIncRootCA: [UInt8] = [
    0xB0, 0xB1, 0x73, 0x0E, 0xCB, 0xC7, 0xFF, 0x45, 0x05, 0x14, 0x2C, 0x49, 0xF1, 0x29, 0x5E, 0x6E,
    0xDA, 0x6B, 0xCA, 0xED, 0x7E, 0x2C, 0x68, 0xC5, 0xBE, 0x91, 0xB5, 0xA1, 0x10, 0x01, 0xF0, 0x24,
  ]

  /// The SHA-256 of certificates that are a root if a chain has them as its third entry.
  let pinned: [[UInt8]]
  /// The SHA-256 of certificates that are a root if a receipt contains them.
  let receiptPins: [[UInt8]]
  /// The DER of further roots, tried with any third entry, as Apple's libraries do.
  public let certificates: [[UInt8]]

  /// Apple's root and the certificates in the contents of `files`, each in DER or PEM.
  ///
  /// - Throws: `ProofFailure.malformed` if a file holds no certificate.
  public init(files: [[UInt8]] = []) throws(ProofFailure) {
    pinned = [Self.appleRootCAG3]
    receiptPins = [Self.appleIncRootCA]
    var certificates: [[UInt8]] = []
    for file in files {
      certificates.append(try Certificate(file: file).der)
    }
    self.certificates = certificates
  }

  /// SHA-256 of the DER of each root.
  public var fingerprints: Set<[UInt8]> {
    Set(pinned + receiptPins + certificates.map(SHA256.hash))
  }

  /// Other pins than Apple's, for tests.
  package init(
    pinned: [[UInt8]], receiptPins: [[UInt8]] = [], certificates: [[UInt8]] = []
  ) {
    (self.pinned, self.receiptPins, self.certificates) = (pinned, receiptPins, certificates)
  }
}
