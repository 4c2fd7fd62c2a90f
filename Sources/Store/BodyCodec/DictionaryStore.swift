import Platform
import SignedData

/// The zstd dictionaries of one journal, read when first needed.
///
/// A header contains the certificate chain and repeats until Apple renews a certificate. The first
/// notification with a header becomes the dictionary for the next thousand. These are the samples
/// from which the dictionary for all further ones is trained: bodies of a simulated fleet have 369
/// bytes and not 438 as with the first dictionary, and encoding one takes 15 µs and not 20. At most
/// `maximumCount` dictionaries are made, so that no sender can fill the file with them.
package final class DictionaryStore {
  static let maximumCount = 256
  private static let maximumBytes = 64 << 10
  /// The number of texts that train the second dictionary. They have about 1.3 KB each, and
  /// training takes about 80 ms.
  private static let sampleCount = 1_000

  /// A dictionary with its id in the journal.
  struct Entry: Sendable {
    let id: Int64
    let dictionary: BodyDictionary
    fileprivate let generation: Generation
  }

  /// Whether a dictionary was made from one notification or trained on many. The raw values are
  /// part of the stored keys and must not change.
  fileprivate enum Generation: String, CaseIterable {
    case first
    case trained = "taught"
  }

  private let connection: SQLiteConnection
  private var known: [Int64: BodyDictionary] = [:]
  private var latest: (header: [UInt8], entry: Entry)?
  /// Texts with the latest header, while its dictionary is of the first generation.
  private var trainingSamples: [[UInt8]]?

  package init(_ connection: SQLiteConnection) { self.connection = connection }

  /// Discards everything cached.
  func forget() {
    known.removeAll()
    latest = nil
    trainingSamples = nil
  }

  /// The latest header's dictionary if it is trained. Before that, every text must pass through
  /// `entry(for:trainsDictionary:)` as a training sample.
  var trainedEntry: Entry? {
    guard let entry = latest?.entry, entry.generation == .trained else { return nil }
    return entry
  }

  /// Returns nil if there is no such dictionary or its bytes do not have the stored hash.
  func dictionary(_ id: Int64) throws(LedgerError) -> BodyDictionary? {
    if let dictionary = known[id] { return dictionary }
    let row = try connection.statement("SELECT bytes, sha256 FROM dictionary WHERE id = ?")
      .bind(1, id).first { ($0.bytes(0), $0.bytes(1)) }
    guard let (bytes, sha256) = row, SHA256.hash(bytes) == sha256,
      let dictionary = BodyDictionary(stored: bytes)
    else { return nil }
    known[id] = dictionary
    return dictionary
  }

  /// The dictionary for a JWS's header. If `trainsDictionary` is set, a new header adds a
  /// dictionary made from this JWS while there are fewer than `maximumCount`, and the JWS is a
  /// training sample.
  func entry(for jws: JWSParts, trainsDictionary: Bool) throws(LedgerError) -> Entry? {
    if let latest, ByteSearch.areEqual(jws.header, latest.header[...]) {
      if trainsDictionary { try train(on: jws) }
      return self.latest?.entry
    }
    let header = Array(jws.header)
    // A look-up alone must not discard the training samples of the latest header.
    guard trainsDictionary else { return try entry(header) }
    trainingSamples = nil
    var found = try entry(header)
    if found == nil { found = try add(header, jws.text, .first) }
    latest = found.map { (header, $0) }
    if found?.generation == .first {
      trainingSamples = []
      try train(on: jws)
    }
    return latest?.entry
  }

  /// The trained dictionary of a header, otherwise the first one.
  private func entry(_ header: [UInt8]) throws(LedgerError) -> Entry? {
    if let entry = try entry(header, .trained) { return entry }
    return try entry(header, .first)
  }

  /// Adds a training sample, and trains the second dictionary when there are enough.
  private func train(on jws: JWSParts) throws(LedgerError) {
    guard trainingSamples != nil, let header = latest?.header else { return }
    trainingSamples?.append(jws.text)
    guard let samples = trainingSamples, samples.count >= Self.sampleCount else { return }
    trainingSamples = nil
    if let content = ZstdDictionary.train(on: samples),
      let entry = try add(header, content, .trained)
    {
      latest = (header, entry)
    }
  }

  /// The stored key of a dictionary, in the column `header_sha256`.
  private static func key(_ header: [UInt8], _ generation: Generation) -> [UInt8] {
    SHA256.hash(Array("subledger.dictionary.\(generation.rawValue)".utf8) + [0] + header)
  }

  /// Whether a stored key is that of a dictionary with this header.
  static func isKey(_ key: [UInt8], of header: [UInt8]) -> Bool {
    Generation.allCases.contains { Self.key(header, $0) == key }
  }

  private func entry(
    _ header: [UInt8], _ generation: Generation
  ) throws(LedgerError) -> Entry? {
    let id = try connection.statement("SELECT id FROM dictionary WHERE header_sha256 = ?")
      .bind(1, Self.key(header, generation)).first { $0.int(0) }
    guard let id, let dictionary = try dictionary(id), dictionary.header == header else {
      return nil
    }
    return Entry(id: id, dictionary: dictionary, generation: generation)
  }

  private func add(
    _ header: [UInt8], _ content: [UInt8], _ generation: Generation
  ) throws(LedgerError) -> Entry? {
    let bytes = BodyDictionary.stored(header: header, content: content)
    let count = try connection.statement("SELECT count(*) FROM dictionary").first { $0.int(0) }
    guard bytes.count <= Self.maximumBytes, (count ?? 0) < Self.maximumCount else { return nil }
    try connection.statement(
      "INSERT INTO dictionary (header_sha256, bytes, sha256) VALUES (?, ?, ?)"
    ).bind(1, Self.key(header, generation)).bind(2, bytes).bind(3, SHA256.hash(bytes)).run()
    return try entry(header, generation)
  }
}
