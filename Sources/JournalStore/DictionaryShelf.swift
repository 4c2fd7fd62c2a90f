import SignedData

/// The dictionaries of one journal, read when first needed.
///
/// A dictionary is the unfolded text of the first notification with its signing header: the header
/// holds the certificate chain and repeats until Apple renews a certificate. At most
/// `maximumCount` are made, so that no sender can fill the file with them.
package final class DictionaryShelf {
  static let maximumCount = 256
  private static let maximumBytes = 64 << 10

  struct Entry {
    let id: Int64
    let dictionary: ZstdDictionary
  }

  private let connection: Connection
  private var known: [Int64: ZstdDictionary] = [:]
  private var byHeader: [[UInt8]: Int64] = [:]
  private var latest: (header: [UInt8], entry: Entry)?

  package init(_ connection: Connection) { self.connection = connection }

  func forget() {
    known.removeAll()
    byHeader.removeAll()
    latest = nil
  }

  /// nil where there is no such dictionary, or its bytes are not what was stored.
  func dictionary(_ id: Int64) throws(StoreError) -> ZstdDictionary? {
    if let dictionary = known[id] { return dictionary }
    let row = try connection.statement("SELECT bytes, sha256 FROM dictionary WHERE id = ?")
      .bind(1, id).first { ($0.bytes(0), $0.bytes(1)) }
    guard let (bytes, sha256) = row, SHA256.hash(bytes) == sha256 else { return nil }
    let dictionary = ZstdDictionary(bytes)
    known[id] = dictionary
    return dictionary
  }

  /// The dictionary of a JWS's header; made from this JWS where it is new and there is room.
  func entry(for jws: UnfoldedJWS, mayLearn: Bool) throws(StoreError) -> Entry? {
    if let latest, ByteSearch.areEqual(jws.header, latest.header[...]) { return latest.entry }
    let header = Array(jws.header)
    var id = try id(of: header)
    if id == nil && mayLearn { id = try learn(header, jws.text) }
    guard let id, let dictionary = try dictionary(id) else { return nil }
    let entry = Entry(id: id, dictionary: dictionary)
    latest = (header, entry)
    return entry
  }

  private func id(of header: [UInt8]) throws(StoreError) -> Int64? {
    if let id = byHeader[header] { return id }
    let id = try connection.statement("SELECT id FROM dictionary WHERE header_sha256 = ?")
      .bind(1, SHA256.hash(header)).first { $0.int(0) }
    if let id { byHeader[header] = id }
    return id
  }

  private func learn(_ header: [UInt8], _ text: [UInt8]) throws(StoreError) -> Int64? {
    guard text.count <= Self.maximumBytes else { return nil }
    let count = try connection.statement("SELECT count(*) FROM dictionary").first { $0.int(0) }
    guard (count ?? 0) < Self.maximumCount else { return nil }
    try connection.statement(
      "INSERT INTO dictionary (header_sha256, bytes, sha256) VALUES (?, ?, ?)"
    ).bind(1, SHA256.hash(header)).bind(2, text).bind(3, SHA256.hash(text)).run()
    let id = connection.lastRowId
    byHeader[header] = id
    return id
  }
}
