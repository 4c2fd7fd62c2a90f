import SignedData

/// Stores a body small, and gives it back byte for byte (promise 5).
///
/// The first stored byte says how: 0 as it is; 1 a size and a zstd frame; 2 an unfolded JWS, its
/// text in a zstd frame made against the dictionary the row names. Nothing is stored that was not
/// decoded and compared first.
package final class BodyCodec {
  package struct Stored: Equatable {
    package let bytes: [UInt8]
    package let dictionary: Int64?
  }

  private enum Form {
    static let plain: UInt8 = 0
    static let zstd: UInt8 = 1
    static let jws: UInt8 = 2
  }

  private let zstd = Zstd()
  private let shelf: DictionaryShelf
  /// The one `JournaledPayload` last looked at: Apple signs with one certificate for months.
  private var plainHeader: [UInt8] = []

  package init(shelf: DictionaryShelf) { self.shelf = shelf }

  /// - Parameter mayLearn: whether a header seen for the first time becomes a dictionary.
  package func encode(_ body: [UInt8], mayLearn: Bool) throws(StoreError) -> Stored {
    if let stored = try encodeJWS(body, mayLearn: mayLearn) { return stored }
    if let frame = zstd.compress(body, with: nil), frame.count + 8 < body.count {
      var bytes = [Form.zstd]
      VarInt.append(body.count, to: &bytes)
      bytes += frame
      if try decode(bytes, dictionary: nil) == body { return Stored(bytes: bytes, dictionary: nil) }
    }
    return Stored(bytes: [Form.plain] + body, dictionary: nil)
  }

  private func encodeJWS(_ body: [UInt8], mayLearn: Bool) throws(StoreError) -> Stored? {
    guard let jws = UnfoldedJWS(body), (jws.textCount ?? 0) > 0 else { return nil }
    let entry = try shelf.entry(for: jws, mayLearn: mayLearn)
    guard let frame = zstd.compress(jws.text, with: entry?.dictionary) else { return nil }
    var bytes = [Form.jws]
    bytes.reserveCapacity(frame.count + 256)
    jws.appendFrame(to: &bytes)
    bytes += frame
    guard bytes.count < body.count,
      let again = decodeJWS(bytes[1...], entry?.dictionary),
      ByteSearch.areEqual(again[...], body[...])
    else { return nil }
    return Stored(bytes: bytes, dictionary: entry?.id)
  }

  /// The body, nil where the stored bytes are not what any writer would have stored.
  ///
  /// - Throws: only what reading a dictionary may throw.
  package func decode(_ stored: [UInt8], dictionary: Int64?) throws(StoreError) -> [UInt8]? {
    switch stored.first {
    case Form.plain:
      return Array(stored.dropFirst())
    case Form.zstd:
      var rest = stored.dropFirst()
      guard let size = VarInt.take(&rest), size <= UnfoldedJWS.maximumText else { return nil }
      return zstd.decompress(rest, size: size, with: nil)
    case Form.jws:
      guard let dictionary else { return decodeJWS(stored[1...], nil) }
      guard let known = try shelf.dictionary(dictionary) else { return nil }
      return decodeJWS(stored[1...], known)
    default:
      return nil
    }
  }

  private func decodeJWS(_ stored: ArraySlice<UInt8>, _ dictionary: ZstdDictionary?) -> [UInt8]? {
    unfolded(stored, dictionary)?.folded()
  }

  private func unfolded(
    _ stored: ArraySlice<UInt8>, _ dictionary: ZstdDictionary?
  ) -> UnfoldedJWS? {
    var rest = stored
    guard var jws = UnfoldedJWS(frame: &rest), let size = jws.textCount,
      let text = zstd.decompress(rest, size: size, with: dictionary)
    else { return nil }
    jws.text = text
    return jws
  }

  /// As `decode` in `source`'s words, with no more work than the fold needs; what cannot be
  /// recovered is unreadable.
  ///
  /// - Throws: only what reading a dictionary may throw.
  func payload(
    _ stored: [UInt8], dictionary: Int64?, source: String
  ) throws(StoreError) -> (content: JournaledPayload.Content, unfolded: UnfoldedJWS?) {
    guard source != JournaledPayload.Content.v1, stored.first == Form.jws else {
      let body = try decode(stored, dictionary: dictionary)
      return (body.map { .init(body: $0, source: source) } ?? .unreadable, nil)
    }
    let known = try dictionary.map { (id) throws(StoreError) in try shelf.dictionary(id) }
    // Named, and not there.
    if case .some(.none) = known { return (.unreadable, nil) }
    guard let jws = unfolded(stored[1...], known ?? nil) else { return (.unreadable, nil) }
    return (.init(jws, &plainHeader), jws)
  }

  /// Forgets what an undone transaction may have added.
  package func forget() { shelf.forget() }
}
