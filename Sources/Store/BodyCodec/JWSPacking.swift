import SignedData

/// Makes and reads `BodyCodec`'s form of a JWS with a given dictionary.
struct JWSPacking {
  private let zstd: Zstd

  init(_ zstd: Zstd) { self.zstd = zstd }

  /// Returns nil if the stored form is not smaller or does not reassemble to the same bytes.
  func pack(
    _ jws: CompactJWS, _ parts: JWSParts, against entry: DictionaryStore.Entry?
  ) -> BodyCodec.Stored? {
    // Without a dictionary the text begins with the header.
    let own = entry == nil ? parts.header : []
    let text = own.isEmpty ? parts.text : own + parts.text
    guard let frame = zstd.compress(text, with: entry?.dictionary.zstd) else { return nil }
    var bytes = [BodyCodec.Form.jws]
    bytes.reserveCapacity(frame.count + 256)
    parts.appendFrame(to: &bytes, headerCount: own.count)
    bytes += frame
    guard bytes.count < jws.text.count, let unpacked = unpack(bytes[1...], entry?.dictionary),
      unpacked.reassembles(to: jws)
    else { return nil }
    return BodyCodec.Stored(bytes: bytes, dictionary: entry?.id)
  }

  /// Reads the stored bytes after the form's byte. Returns nil if they are damaged.
  func unpack(_ stored: ArraySlice<UInt8>, _ dictionary: BodyDictionary?) -> JWSParts? {
    var rest = stored
    var headerCount = 0
    guard
      var jws = JWSParts(
        frame: &rest, header: dictionary?.header ?? [], headerCount: &headerCount),
      let count = jws.textCount, headerCount + count <= JWSParts.maximumText,
      let text = zstd.decompress(rest, size: headerCount + count, with: dictionary?.zstd)
    else { return nil }
    if headerCount > 0 {
      jws.header = text[..<headerCount]
      jws.text = Array(text[headerCount...])
    } else {
      jws.text = text
    }
    return jws
  }
}
