import Encoding
import SignedData

/// Stores a body small, and gives it back byte for byte (promise 5).
///
/// The first stored byte says how: 0 as it is; 1 a size and a zstd frame; 2 an unfolded JWS, its
/// text in a zstd frame made against the dictionary the row names. Nothing is stored that was not
/// decoded and compared first.
package final class BodyCodec {
  package struct Stored: Equatable, Sendable {
    package let bytes: [UInt8]
    package let dictionary: Int64?
  }

  enum Form {
    static let plain: UInt8 = 0
    static let zstd: UInt8 = 1
    static let jws: UInt8 = 2
  }

  private let zstd: Zstd
  private let packing: JWSPacking
  private let shelf: DictionaryStore
  /// The one `JournaledPayload` last looked at: Apple signs with one certificate for months.
  private var plainHeader: [UInt8] = []

  package init(shelf: DictionaryStore) {
    self.shelf = shelf
    zstd = Zstd()
    packing = JWSPacking(zstd)
  }

  /// What bodies may be packed against ahead of the writer; nil while that may still change.
  var settled: DictionaryStore.Entry? { shelf.settled }

  /// - Parameter mayLearn: whether a header seen for the first time becomes a dictionary.
  package func encode(_ body: [UInt8], mayLearn: Bool) throws(StoreError) -> Stored {
    if let jws = try? CompactJWS(parsing: body[...]),
      let stored = try encode(jws, mayLearn: mayLearn)
    {
      return stored
    }
    return try encode(whole: body)
  }

  /// As `encode`, of what somebody may have taken apart or packed already.
  func encode(_ body: NewEvent.Body, mayLearn: Bool) throws(StoreError) -> Stored {
    if let packed = body.packed { return packed }
    guard let jws = body.jws else { return try encode(body.bytes, mayLearn: mayLearn) }
    if let stored = try encode(jws, mayLearn: mayLearn) { return stored }
    return try encode(whole: Array(jws.text))
  }

  private func encode(whole body: [UInt8]) throws(StoreError) -> Stored {
    if let frame = zstd.compress(body, with: nil), frame.count + 8 < body.count {
      var bytes = [Form.zstd]
      VarInt.append(body.count, to: &bytes)
      bytes += frame
      if try decode(bytes, dictionary: nil) == body { return Stored(bytes: bytes, dictionary: nil) }
    }
    return Stored(bytes: [Form.plain] + body, dictionary: nil)
  }

  private func encode(_ jws: CompactJWS, mayLearn: Bool) throws(StoreError) -> Stored? {
    let unfolded = JWSParts(jws)
    guard unfolded.textCount ?? 0 > 0 else { return nil }
    let entry = try shelf.entry(for: unfolded, mayLearn: mayLearn)
    return packing.pack(jws, unfolded, against: entry)
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
      guard let size = VarInt.take(&rest), size <= JWSParts.maximumText else { return nil }
      return zstd.decompress(rest, size: size, with: nil)
    case Form.jws:
      return try unfolded(stored, dictionary)?.folded()
    default:
      return nil
    }
  }

  /// nil too where a dictionary is named and not there.
  private func unfolded(
    _ stored: [UInt8], _ dictionary: Int64?
  ) throws(StoreError) -> JWSParts? {
    guard let dictionary else { return packing.unpack(stored[1...], nil) }
    guard let known = try shelf.dictionary(dictionary) else { return nil }
    return packing.unpack(stored[1...], known)
  }

  /// As `decode` in `source`'s words, with no more work than the fold needs; what cannot be
  /// recovered is unreadable.
  ///
  /// - Throws: only what reading a dictionary may throw.
  func payload(
    _ stored: [UInt8], dictionary: Int64?, source: String
  ) throws(StoreError) -> (content: JournaledPayload.Content, unfolded: JWSParts?) {
    guard source != JournaledPayload.Content.v1, stored.first == Form.jws else {
      let body = try decode(stored, dictionary: dictionary)
      return (body.map { .init(body: $0, source: source) } ?? .unreadable, nil)
    }
    guard let jws = try unfolded(stored, dictionary) else { return (.unreadable, nil) }
    return (.init(jws, &plainHeader), jws)
  }

  /// Forgets what an undone transaction may have added.
  package func forget() { shelf.forget() }
}
