import Platform

/// The signer of a `SignedMessage` (RFC 5652 section 5.3).
struct SignerInfo: Sendable {
  /// The encoded name of the signer's issuer, and the content of the INTEGER of its serial number.
  let issuer: ArraySlice<UInt8>
  let serial: ArraySlice<UInt8>
  /// Encoded: the message names it once more, before the content.
  let digestAlgorithm: ArraySlice<UInt8>
  /// Nil for algorithms that no receipt uses.
  let digest: ReceiptDigest?
  /// Nil if the content itself is signed, as in every receipt that is known.
  let attributes: SignedAttributes?
  let signature: ArraySlice<UInt8>

  /// Reads the content of the SEQUENCE; nil for any other structure.
  init?(_ content: ArraySlice<UInt8>) {
    var fields = DERReader(content)
    guard fields.content(DERReader.Tag.integer)?.elementsEqual([1]) == true,
      let name = fields.content(DERReader.Tag.sequence),
      let (issuer, serial) = Self.issuerAndSerial(name),
      let named = fields.next(), named.tag == DERReader.Tag.sequence,
      let digest = Self.algorithm(named.content)
    else { return nil }
    (self.issuer, self.serial, digestAlgorithm) = (issuer, serial, named.encoded)
    if fields.nextTag == DERReader.Tag.first {
      guard let value = fields.next(), let read = SignedAttributes(value) else { return nil }
      attributes = read
    } else {
      attributes = nil
    }
    guard let algorithm = fields.content(DERReader.Tag.sequence).flatMap(Self.algorithm),
      let signature = fields.content(DERReader.Tag.octets), fields.isAtEnd
    else { return nil }
    self.signature = signature
    self.digest = ReceiptDigest(digest: digest, signature: algorithm)
  }

  /// IssuerAndSerialNumber (section 10.2.4).
  private static func issuerAndSerial(
    _ content: ArraySlice<UInt8>
  ) -> (ArraySlice<UInt8>, ArraySlice<UInt8>)? {
    var fields = DERReader(content)
    guard let name = fields.next(), name.tag == DERReader.Tag.sequence,
      let serial = fields.content(DERReader.Tag.integer), fields.isAtEnd
    else { return nil }
    return (name.encoded, serial)
  }

  /// The identifier in an AlgorithmIdentifier (RFC 5280 section 4.1.1.2) whose parameters are
  /// absent or NULL: the algorithms of a receipt have none.
  private static func algorithm(_ content: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
    var fields = DERReader(content)
    guard let identifier = fields.content(DERReader.Tag.identifier) else { return nil }
    if fields.isAtEnd { return identifier }
    guard let parameters = fields.next(), parameters.encoded.elementsEqual([0x05, 0x00]),
      fields.isAtEnd
    else { return nil }
    return identifier
  }

  /// Whether a certificate is the signer's, by issuer and serial number.
  ///
  /// - Parameter certificate: in DER.
  func names(_ certificate: ArraySlice<UInt8>) -> Bool {
    guard let whole = DERReader.only(DERReader.Tag.sequence, in: certificate) else { return false }
    var parts = DERReader(whole)
    guard let body = parts.content(DERReader.Tag.sequence) else { return false }
    // Version, serial number, signature, issuer (RFC 5280 section 4.1).
    var fields = DERReader(body)
    guard fields.content(DERReader.Tag.first) != nil,
      let number = fields.content(DERReader.Tag.integer), fields.next() != nil,
      let name = fields.next()
    else { return false }
    return ByteSearch.areEqual(number, serial) && ByteSearch.areEqual(name.encoded, issuer)
  }
}
