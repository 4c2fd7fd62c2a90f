import AppStore
package import Platform
import SignedData

/// Compresses bodies for storage and recovers them byte for byte (promise 5).
///
/// The first stored byte is the form: 0 the body itself; 1 a size and a zstd frame; 2 a JWS as
/// `JWSParts`, with its text in a zstd frame made with the dictionary that the row names; 3 the
/// name of a receipt (`ReceiptReference`), which is stored beside the events in one of the first
/// two forms. Before a compressed form is stored, it is decoded and compared with the body.
package final class BodyCodec {
  /// A body in its stored form.
  package struct Stored: Equatable, Sendable {
    package let bytes: [UInt8]
    /// The id of the dictionary that decoding needs.
    package let dictionary: Int64?
  }

  enum Form {
    static let plain: UInt8 = 0
    static let zstd: UInt8 = 1
    static let jws: UInt8 = 2
    static let receipt: UInt8 = 3
  }

  private let zstd: Zstd
  private let packing: JWSPacking
  private let dictionaries: DictionaryStore
  private let receipts: ReceiptStore?
  /// The header that `JournaledPayload` checked last. Apple signs with one certificate for months.
  private var plainHeader: [UInt8] = []

  package convenience init(dictionaries: DictionaryStore) {
    self.init(dictionaries: dictionaries, receipts: nil)
  }

  /// - Parameter receipts: nil for a codec of bodies that are no receipts.
  init(dictionaries: DictionaryStore, receipts: ReceiptStore?) {
    self.dictionaries = dictionaries
    self.receipts = receipts
    zstd = Zstd()
    packing = JWSPacking(zstd)
  }

  /// The dictionary with which a `BodyPacker` may pack bodies; nil while it may still change.
  var trainedEntry: DictionaryStore.Entry? { dictionaries.trainedEntry }

  /// The stored form of a body.
  ///
  /// - Parameter trainsDictionary: whether a new header may add a dictionary to the journal.
  /// - Throws: what SQLite reports.
  package func encode(_ body: [UInt8], trainsDictionary: Bool) throws(LedgerError) -> Stored {
    if let jws = try? CompactJWS(parsing: body[...]),
      let stored = try encode(jws, trainsDictionary: trainsDictionary)
    {
      return stored
    }
    return try encode(whole: body)
  }

  /// The same for a body that may already be parsed or packed.
  func encode(_ body: NewEvent.Body, trainsDictionary: Bool) throws(LedgerError) -> Stored {
    if let packed = body.packed { return packed }
    guard let jws = body.jws else {
      return try encode(body.bytes, trainsDictionary: trainsDictionary)
    }
    if let stored = try encode(jws, trainsDictionary: trainsDictionary) { return stored }
    return try encode(whole: Array(jws.text))
  }

  /// The stored form of an event or of held evidence: its body, or the name of its receipt, which
  /// is then stored.
  ///
  /// - Parameters:
  ///   - isJournaled: whether it is an event.
  ///   - trainsDictionary: as `encode(_:trainsDictionary:)`.
  func encode(
    _ event: NewEvent, isJournaled: Bool, trainsDictionary: Bool
  ) throws(LedgerError) -> Stored {
    guard let receipt = event.content.receipt, let receipts,
      let id = event.originalTransactionId
    else { return try encode(event.content, trainsDictionary: trainsDictionary) }
    try receipts.insert(receipt, isJournaled: isJournaled) { (der) throws(LedgerError) in
      try encode(whole: der).bytes
    }
    return Stored(bytes: ReceiptReference(receipt, of: id).bytes, dictionary: nil)
  }

  /// Removes the receipt of held evidence that was removed, unless it is still in use.
  func removeUnusedReceipt(_ sha256: [UInt8]) throws(LedgerError) {
    try receipts?.removeUnused(sha256)
  }

  private func encode(whole body: [UInt8]) throws(LedgerError) -> Stored {
    if let frame = zstd.compress(body, with: nil), frame.count + 8 < body.count {
      var bytes = [Form.zstd]
      VarInt.append(body.count, to: &bytes)
      bytes += frame
      if try decode(bytes, dictionary: nil) == body { return Stored(bytes: bytes, dictionary: nil) }
    }
    return Stored(bytes: [Form.plain] + body, dictionary: nil)
  }

  private func encode(_ jws: CompactJWS, trainsDictionary: Bool) throws(LedgerError) -> Stored? {
    let parts = JWSParts(jws)
    guard parts.textCount ?? 0 > 0 else { return nil }
    let entry = try dictionaries.entry(for: parts, trainsDictionary: trainsDictionary)
    return packing.pack(jws, parts, against: entry)
  }

  /// The body. Returns nil if the stored bytes are damaged or the dictionary is missing.
  ///
  /// - Throws: what SQLite reports when a dictionary is read.
  package func decode(_ stored: [UInt8], dictionary: Int64?) throws(LedgerError) -> [UInt8]? {
    switch stored.first {
    case Form.plain:
      return Array(stored.dropFirst())
    case Form.zstd:
      var rest = stored.dropFirst()
      guard let size = VarInt.read(&rest), size <= JWSParts.maximumText else { return nil }
      return zstd.decompress(rest, size: size, with: nil)
    case Form.jws:
      return try parts(stored, dictionary)?.reassembled()
    case Form.receipt:
      return try receipt(stored)?.receipt.der
    default:
      return nil
    }
  }

  /// The receipt that a stored form names; nil if it is missing or cannot be read.
  func receiptBody(_ stored: [UInt8]) throws(LedgerError) -> ReceiptBody? {
    try receipt(stored)?.receipt.body
  }

  /// Returns nil if the stored bytes are damaged or the receipt is missing.
  private func receipt(
    _ stored: [UInt8]
  ) throws(LedgerError) -> (receipt: ReceiptStore.Stored, reference: ReceiptReference)? {
    guard let receipts, let reference = ReceiptReference(stored),
      let found = try receipts.receipt(
        reference.sha256,
        { (body) throws(LedgerError) in
          // A receipt that names another one would be no body.
          body.first == Form.receipt ? nil : try decode(body, dictionary: nil)
        })
    else { return nil }
    return (found, reference)
  }

  /// Returns nil if the stored bytes are damaged or the dictionary is missing.
  private func parts(
    _ stored: [UInt8], _ dictionary: Int64?
  ) throws(LedgerError) -> JWSParts? {
    guard let dictionary else { return packing.unpack(stored[1...], nil) }
    guard let known = try dictionaries.dictionary(dictionary) else { return nil }
    return packing.unpack(stored[1...], known)
  }

  /// Decodes what the fold needs of a body, without reassembling a JWS. The content is `unreadable`
  /// if the body cannot be recovered.
  ///
  /// - Parameters:
  ///   - source: the event's source, which says how to read the body.
  ///   - originalTransactionId: that of the event's stream.
  /// - Throws: what SQLite reports when a dictionary is read.
  func payload(
    _ stored: [UInt8], dictionary: Int64?, source: EventSource, of originalTransactionId: String?
  ) throws(LedgerError) -> (content: JournaledPayload.Content, parts: JWSParts?) {
    if source.form == .receipt {
      guard stored.first == Form.receipt, let (found, reference) = try receipt(stored),
        let body = found.body
      else { return (.unreadable, nil) }
      return (.receipt(body, of: reference.originalTransactionId), nil)
    }
    guard source.form != .v1, stored.first == Form.jws else {
      let body = try decode(stored, dictionary: dictionary)
      let content = body.map {
        JournaledPayload.Content(
          body: $0, source: source, originalTransactionId: originalTransactionId)
      }
      return (content ?? .unreadable, nil)
    }
    guard let jws = try parts(stored, dictionary) else { return (.unreadable, nil) }
    return (.init(jws, &plainHeader), jws)
  }

  /// Discards cached dictionaries, because an SQL transaction that was rolled back may have added
  /// them.
  func forget() {
    dictionaries.forget()
    receipts?.forget()
  }
}
