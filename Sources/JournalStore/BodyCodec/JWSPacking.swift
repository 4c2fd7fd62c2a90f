import SignedData

/// `BodyCodec`'s form of a JWS, against a dictionary that is at hand.
struct JWSPacking {
  private let zstd: Zstd

  init(_ zstd: Zstd) { self.zstd = zstd }

  /// nil where that would not be smaller, or does not give back the same bytes.
  func pack(
    _ jws: CompactJWS, _ unfolded: JWSParts, against entry: DictionaryStore.Entry?
  ) -> BodyCodec.Stored? {
    // Without a dictionary that has it the header goes along.
    let own = entry == nil ? unfolded.header : []
    let text = own.isEmpty ? unfolded.text : own + unfolded.text
    guard let frame = zstd.compress(text, with: entry?.dictionary.zstd) else { return nil }
    var bytes = [BodyCodec.Form.jws]
    bytes.reserveCapacity(frame.count + 256)
    unfolded.appendFrame(to: &bytes, headerCount: own.count)
    bytes += frame
    guard bytes.count < jws.text.count, let again = unpack(bytes[1...], entry?.dictionary),
      again.folds(to: jws)
    else { return nil }
    return BodyCodec.Stored(bytes: bytes, dictionary: entry?.id)
  }

  /// nil where the bytes behind the form's are not what `pack` would have made.
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
