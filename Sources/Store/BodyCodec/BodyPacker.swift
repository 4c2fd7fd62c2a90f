import Platform
public import SignedData

/// Compresses bodies before they reach the single writer thread. Each reactor thread uses its own
/// packer. The writer compresses a body that the packer cannot compress in the same way.
public final class BodyPacker {
  private let packing = JWSPacking(Zstd())
  private let dictionary: SharedDictionary

  public init(_ dictionary: SharedDictionary) { self.dictionary = dictionary }

  /// The body, with its stored form if the shared dictionary belongs to the JWS's header.
  public func body(_ jws: CompactJWS) -> NewEvent.Body {
    var body = NewEvent.Body.jws(jws)
    if let entry = dictionary.current,
      ByteSearch.areEqual(jws.header, entry.dictionary.header[...])
    {
      body.packed = packing.pack(jws, JWSParts(jws), against: entry)
    }
    return body
  }
}
