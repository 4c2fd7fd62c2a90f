/// The certificate authorities in which a chain may end.
public struct TrustRoots: Sendable {
  /// SHA-256 of the DER of Apple Root CA – G3 (apple.com/certificateauthority), valid 2014-04-30 to
  /// 2039-04-30.
  public static let appleRootCAG3: [UInt8] = [
    0x63, 0x34, 0x3A, 0xBF, 0xB8, 0x9A, 0x6A, 0x03, 0xEB, 0xB5, 0x7E, 0x9B, 0x3F, 0x5F, 0xA7, 0xBE,
    0x7C, 0x4F, 0x5C, 0x75, 0x6F, 0x30, 0x17, 0xB3, 0xA8, 0xC4, 0x88, 0xC3, 0x65, 0x3E, 0x91, 0x79,
  ]

  /// The SHA-256 of certificates that are a root if a chain has them as its third entry.
  public let pinned: [[UInt8]]
  /// The DER of further roots, tried with any third entry, as Apple's libraries do.
  public let certificates: [[UInt8]]

  /// Apple's root and the certificates in the contents of `files`, each in DER or PEM.
  ///
  /// - Throws: `ProofFailure.malformed` if a file holds no certificate.
  public init(files: [[UInt8]] = []) throws(ProofFailure) {
    pinned = [Self.appleRootCAG3]
    var certificates: [[UInt8]] = []
    for file in files {
      certificates.append(try Certificate(file: file).der)
    }
    self.certificates = certificates
  }

  /// Other pins than Apple's, for tests.
  package init(pinned: [[UInt8]], certificates: [[UInt8]] = []) {
    (self.pinned, self.certificates) = (pinned, certificates)
  }
}
