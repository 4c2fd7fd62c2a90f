/// The SubjectPublicKeyInfo of a certificate (RFC 5280 section 4.1), in DER.
///
/// Read before OpenSSL parses the certificate, because OpenSSL decodes the key at once. For a
/// compressed point it computes a square root, which takes milliseconds on a curve that an attacker
/// has chosen for that.
struct PublicKeyInfo {
  private let bytes: ArraySlice<UInt8>
  /// The algorithm's identifier, then its parameters.
  private let algorithm: [ArraySlice<UInt8>]
  /// The BIT STRING of the key.
  private let key: ArraySlice<UInt8>

  /// The key in a certificate; nil if the certificate has another structure.
  ///
  /// - Parameter certificate: strict DER.
  init?(of certificate: [UInt8]) {
    guard let body = DERShape.values(in: certificate[...])?.first,
      let fields = DERShape.values(in: body)
    else { return nil }
    // After the version, which may be absent: serial number, signature, issuer, validity, subject.
    let index = fields.first?.first == 0xA0 ? 6 : 5
    guard fields.count > index, let parts = DERShape.values(in: fields[index]), parts.count == 2,
      let algorithm = DERShape.values(in: parts[0])
    else { return nil }
    (bytes, self.algorithm, key) = (fields[index], algorithm, parts[1])
  }

  /// id-ecPublicKey (RFC 5480 section 2.1.1).
  private static let ellipticCurve: [UInt8] = [
    0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01,
  ]

  /// Whether a key on an elliptic curve names its curve, as RFC 5480 section 2.1.1 requires, and is
  /// an uncompressed point, which everyone uses. True for keys of other kinds.
  var isPlain: Bool {
    guard algorithm.first?.elementsEqual(Self.ellipticCurve) == true else { return true }
    guard algorithm.count == 2, algorithm[1].first == 0x06,
      let point = DERShape.content(of: key), point.count > 1
    else { return false }
    return point[point.startIndex] == 0 && point[point.startIndex + 1] == 0x04
  }

  /// Whether the key is on P-256, with a named curve and an uncompressed point: exactly then it is
  /// these 26 bytes, 0x04, and 64 bytes of the point (RFC 5480 section 2).
  var isPlainP256: Bool {
    let prefix: [UInt8] = [
      0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01, 0x06, 0x08,
      0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00, 0x04,
    ]
    return bytes.count == 91 && bytes.starts(with: prefix)
  }

  /// The uncompressed point of a key on P-384, with a named curve; nil for any other key.
  var p384Point: ArraySlice<UInt8>? {
    let prefix: [UInt8] = [
      0x30, 0x76, 0x30, 0x10, 0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01, 0x06, 0x05,
      0x2B, 0x81, 0x04, 0x00, 0x22, 0x03, 0x62, 0x00, 0x04,
    ]
    return bytes.count == 120 && bytes.starts(with: prefix) ? bytes.suffix(97) : nil
  }
}
