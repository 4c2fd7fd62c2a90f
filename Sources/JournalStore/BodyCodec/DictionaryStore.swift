import Encoding
import SignedData

/// The dictionaries of one journal, read when first needed.
///
/// A header holds the certificate chain and repeats until Apple renews a certificate. The first
/// notification under one becomes the dictionary of the next thousand, and they together the one
/// of all that follow: a third smaller than against the first alone, and in half the time. At most
/// `maximumCount` are made, so that no sender can fill the file with them.
package final class DictionaryStore {
  static let maximumCount = 256
  private static let maximumBytes = 64 << 10
  /// How many texts teach the second dictionary, at about 1.3 KB each, in about 80 ms.
  private static let lessons = 1_000

  struct Entry: Sendable {
    let id: Int64
    let dictionary: BodyDictionary
    fileprivate let generation: Generation
  }

  /// Whether a dictionary was made of one notification or of many.
  fileprivate enum Generation: String, CaseIterable {
    case first, taught
  }

  private let connection: SQLiteConnection
  private var known: [Int64: BodyDictionary] = [:]
  private var latest: (header: [UInt8], entry: Entry)?
  /// Texts under the latest header, while its dictionary is of the first generation.
  private var texts: [[UInt8]]?

  package init(_ connection: SQLiteConnection) { self.connection = connection }

  func forget() {
    known.removeAll()
    latest = nil
    texts = nil
  }

  /// The latest header's, where no better one will come: to learn, the shelf has to see the texts.
  var settled: Entry? {
    guard let entry = latest?.entry, entry.generation == .taught else { return nil }
    return entry
  }

  /// nil where there is no such dictionary, or its bytes are not what was stored.
  func dictionary(_ id: Int64) throws(StoreError) -> BodyDictionary? {
    if let dictionary = known[id] { return dictionary }
    let row = try connection.statement("SELECT bytes, sha256 FROM dictionary WHERE id = ?")
      .bind(1, id).first { ($0.bytes(0), $0.bytes(1)) }
    guard let (bytes, sha256) = row, SHA256.hash(bytes) == sha256,
      let dictionary = BodyDictionary(stored: bytes)
    else { return nil }
    known[id] = dictionary
    return dictionary
  }

  /// The dictionary for a JWS's header; made from this JWS where it is new and there is room.
  func entry(for jws: JWSParts, mayLearn: Bool) throws(StoreError) -> Entry? {
    if let latest, ByteSearch.areEqual(jws.header, latest.header[...]) {
      if mayLearn { try study(jws) }
      return self.latest?.entry
    }
    let header = Array(jws.header)
    // What is only looked for leaves alone what is being learned.
    guard mayLearn else { return try entry(header) }
    texts = nil
    var found = try entry(header)
    if found == nil { found = try add(header, jws.text, .first) }
    latest = found.map { (header, $0) }
    if found?.generation == .first {
      texts = []
      try study(jws)
    }
    return latest?.entry
  }

  /// The better one of a header.
  private func entry(_ header: [UInt8]) throws(StoreError) -> Entry? {
    if let entry = try entry(header, .taught) { return entry }
    return try entry(header, .first)
  }

  /// Keeps the text, and makes the second dictionary when there are enough.
  private func study(_ jws: JWSParts) throws(StoreError) {
    guard texts != nil, let header = latest?.header else { return }
    texts?.append(jws.text)
    guard let texts, texts.count >= Self.lessons else { return }
    self.texts = nil
    if let content = ZstdDictionary.train(on: texts),
      let entry = try add(header, content, .taught)
    {
      latest = (header, entry)
    }
  }

  /// What finds a dictionary.
  private static func key(_ header: [UInt8], _ generation: Generation) -> [UInt8] {
    SHA256.hash(Array("subledger.dictionary.\(generation.rawValue)".utf8) + [0] + header)
  }

  /// Whether a stored key is that of a dictionary with this header.
  static func isKey(_ key: [UInt8], of header: [UInt8]) -> Bool {
    Generation.allCases.contains { Self.key(header, $0) == key }
  }

  private func entry(
    _ header: [UInt8], _ generation: Generation
  ) throws(StoreError) -> Entry? {
    let id = try connection.statement("SELECT id FROM dictionary WHERE header_sha256 = ?")
      .bind(1, Self.key(header, generation)).first { $0.int(0) }
    guard let id, let dictionary = try dictionary(id), dictionary.header == header else {
      return nil
    }
    return Entry(id: id, dictionary: dictionary, generation: generation)
  }

  private func add(
    _ header: [UInt8], _ content: [UInt8], _ generation: Generation
  ) throws(StoreError) -> Entry? {
    let bytes = BodyDictionary.stored(header: header, content: content)
    let count = try connection.statement("SELECT count(*) FROM dictionary").first { $0.int(0) }
    guard bytes.count <= Self.maximumBytes, (count ?? 0) < Self.maximumCount else { return nil }
    try connection.statement(
      "INSERT INTO dictionary (header_sha256, bytes, sha256) VALUES (?, ?, ?)"
    ).bind(1, Self.key(header, generation)).bind(2, bytes).bind(3, SHA256.hash(bytes)).run()
    return try entry(header, generation)
  }
}
