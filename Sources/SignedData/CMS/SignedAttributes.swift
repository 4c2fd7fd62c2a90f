import Platform

/// The attributes that a signer signs in place of the content (RFC 5652 section 5.3): the type of
/// the content and its digest, and any others, which are not read.
struct SignedAttributes: Sendable {
  /// What the signature is over: the attributes as a SET (section 5.4).
  let signed: [UInt8]
  let messageDigest: ArraySlice<UInt8>

  /// - Parameter value: [0] IMPLICIT SET OF Attribute.
  /// - Returns: nil for any other structure, for an attribute that occurs twice, and without the
  ///   two that section 5.3 requires.
  init?(_ value: DERReader.Value) {
    var contentType: ArraySlice<UInt8>?
    var digest: ArraySlice<UInt8>?
    var known: [ArraySlice<UInt8>] = []
    var attributes = DERReader(value.content)
    while !attributes.isAtEnd {
      guard let content = attributes.content(DERReader.Tag.sequence) else { return nil }
      var fields = DERReader(content)
      guard let identifier = fields.content(DERReader.Tag.identifier),
        let values = fields.content(DERReader.Tag.set), fields.isAtEnd,
        !known.contains(identifier), known.count < 16
      else { return nil }
      known.append(identifier)
      if identifier.elementsEqual(ObjectIdentifiers.contentType) {
        contentType = DERReader.only(DERReader.Tag.identifier, in: values)
      } else if identifier.elementsEqual(ObjectIdentifiers.messageDigest) {
        digest = DERReader.only(DERReader.Tag.octets, in: values)
      }
    }
    guard contentType?.elementsEqual(ObjectIdentifiers.data) == true, let digest else {
      return nil
    }
    messageDigest = digest
    signed = [DERReader.Tag.set] + value.encoded.dropFirst()
  }
}
