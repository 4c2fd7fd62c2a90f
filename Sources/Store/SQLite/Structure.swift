public import Platform
import SignedData

/// Checks what the events are stored in: the schema, pages, indexes and dictionaries.
extension JournalReader {
  /// The differences between the schema and what the migrations made, such as missing triggers or
  /// renamed columns, as sentences for an operator.
  ///
  /// - Throws: what SQLite reports.
  public func schemaFaults() throws(LedgerError) -> [String] {
    let version = try connection.statement("PRAGMA user_version").first { Int($0.int(0)) } ?? 0
    let fresh = try SQLiteConnection.open(":memory:", .write)
    defer { fresh.close() }
    try Migrator.apply(fresh, through: version, now: 0)
    let expected = try fresh.schema()
    let found = try connection.schema()
    var faults = expected.keys.filter { found[$0] == nil }.sorted().map { "\($0) is missing" }
    faults += expected.filter { found[$0.key] != nil && found[$0.key] != $0.value }
      .keys.sorted().map { "\($0) was changed" }
    if found.keys.contains(where: { expected[$0] == nil }) {
      faults.append("something was added to the schema")
    }
    do throws(LedgerError) {
      try Migrator.check(connection)
    } catch {
      guard error.code == .frozenMigration else { throw error }
      faults.append(error.detail)
    }
    return faults
  }

  /// Contradictions between pages, tables and indexes
  /// (sqlite.org/pragma.html#pragma_integrity_check), and dictionaries that do not have their
  /// stored hash or do not belong to the header of the bodies that need them, as sentences for an
  /// operator. Reads the whole file.
  ///
  /// - Throws: `LedgerError.corrupt` when the damage prevents the check itself, otherwise what
  ///   SQLite reports.
  public func pageFaults() throws(LedgerError) -> [String] {
    try dictionaryFaults() + connection.integrityFaults()
  }

  private func dictionaryFaults() throws(LedgerError) -> [String] {
    let all = try connection.statement(
      "SELECT id, header_sha256, bytes, sha256 FROM dictionary ORDER BY id"
    ).all { (id: $0.int(0), key: $0.bytes(1), bytes: $0.bytes(2), sha256: $0.bytes(3)) }
    var faults: [String] = []
    for row in all {
      let header = BodyDictionary(stored: row.bytes)?.header ?? []
      let isFound =
        if header.isEmpty {
          try bodyHeader(row.id).map { $0 == row.key } ?? true
        } else {
          DictionaryStore.isKey(row.key, of: header)
        }
      if !isFound || SHA256.hash(row.bytes) != row.sha256 {
        faults.append("dictionary \(row.id) was changed")
      }
    }
    return faults
  }

  /// The hash of the signing header of a body that is compressed against a dictionary of the older
  /// format. Returns nil if there is no such body.
  private func bodyHeader(_ dictionary: Int64) throws(LedgerError) -> [UInt8]? {
    let stored = try connection.statement("SELECT body FROM event WHERE dictionary_id = ? LIMIT 1")
      .bind(1, dictionary).first { $0.bytes(0) }
    guard let stored, let body = try codec.decode(stored, dictionary: dictionary),
      let jws = try? CompactJWS(parsing: body[...])
    else { return nil }
    return SHA256.hash(slice: jws.header)
  }
}

extension SQLiteConnection {
  /// The SQL of each table, index, trigger and view, by type and name.
  fileprivate func schema() throws(LedgerError) -> [String: String] {
    let all = try statement("SELECT type || ' ' || name, coalesce(sql, '') FROM sqlite_schema")
      .all { ($0.text(0), $0.text(1)) }
    return Dictionary(all, uniquingKeysWith: { "\($0)\n\($1)" })
  }

  /// The findings of SQLite's own check, at most 100.
  fileprivate func integrityFaults() throws(LedgerError) -> [String] {
    try statement("PRAGMA integrity_check").all { $0.text(0) }.filter { $0 != "ok" }
  }
}
