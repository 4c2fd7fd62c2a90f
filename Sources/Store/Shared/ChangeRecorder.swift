import AppStore
import Platform
import SignedData

/// Makes the shipment of one SQL transaction from the rows that it changed.
struct ChangeRecorder {
  let connection: SQLiteConnection
  /// The position before the transaction.
  let before: JournalPosition

  /// - Parameters:
  ///   - rows: the changed rows, by table.
  ///   - values: those of `NotedTable.noted` before the transaction.
  /// - Throws: `LedgerError.sql` if a table was changed that other copies would not learn of.
  func shipment(
    _ rows: [String: Set<Int64>], head: Head, values: [Int64?]
  ) throws(LedgerError) -> Shipment {
    for table in rows.keys where NotedTable.named(table) == nil {
      guard NotedTable.derived.contains(table) || NotedTable.local.contains(table) else {
        throw .sql("a change of the table \(table) reaches no other copy")
      }
    }
    let changes = try changes(rows, values)
    let notes = Self.notes(changes, after: before)
    let dictionaries = try dictionaries()
    let position = JournalPosition(
      seq: head.seq, hash: head.hash, receivedAt: head.receivedAt,
      notes: notes.last?.version ?? before.notes, notesHash: Self.chain(notes, after: before),
      dictionary: dictionaries.last?.id ?? before.dictionary)
    return Shipment(
      after: before, dictionaries: dictionaries,
      events: try PackedEvent.read(after: before.seq, limit: .max, connection), notes: notes,
      cleared: changes.filter { $0.content == .removed }.map(\.row), head: position)
  }

  static func notes(_ changes: [RowChange], after position: JournalPosition) -> [Note] {
    var version = position.notes
    return changes.map { change in
      version += 1
      let body = change.body
      return Note(
        version: version, subject: change.subject, sha256: SHA256.hash(body), body: body)
    }
  }

  static func chain(_ notes: [Note], after position: JournalPosition) -> [UInt8] {
    notes.reduce(position.notesHash) { hash, note in note.chain(after: hash) }
  }

  /// Removals come first: a row that takes the place of another one may have its key.
  private func changes(
    _ rows: [String: Set<Int64>], _ before: [Int64?]
  ) throws(LedgerError) -> [RowChange] {
    var changes: [RowChange] = []
    for table in NotedTable.all {
      var added: [RowChange] = []
      for rowID in (rows[table.name] ?? []).sorted() {
        let change = try table.change(rowID, connection)
        if change.content == .removed { changes.append(change) } else { added.append(change) }
      }
      changes += added
    }
    let after = try CopyState.values(connection)
    for (index, key) in NotedTable.noted.enumerated() where after[index] != before[index] {
      changes.append(RowChange(RowChange.meta, key.rawValue, .value(after[index] ?? 0)))
    }
    return changes
  }

  private func dictionaries() throws(LedgerError) -> [PackedDictionary] {
    try PackedDictionary.read(after: before.dictionary, limit: .max, connection)
  }
}

extension NotedTable {
  /// What a note says of the row as it is now.
  func change(
    _ rowID: Int64, _ connection: SQLiteConnection
  ) throws(LedgerError) -> RowChange {
    let selected = columns.map { "t.\($0)" }.joined(separator: ", ")
    let stream =
      hasStream
      ? """
      , app.environment, app.bundle_id, stream.original_transaction_id FROM \(name) t
      JOIN stream ON stream.id = t.stream_id JOIN app ON app.id = stream.app_id
      """ : " FROM \(name) t"
    let found = try connection.statement("SELECT \(selected)\(stream) WHERE t.\(key) = ?")
      .bind(1, rowID).first { row in
        var values: [String: QueryValue] = [:]
        for (index, column) in columns.enumerated() where column != "stream_id" {
          values[column] = row.value(Int32(index))
        }
        return RowChange.Content.row(values, stream: hasStream ? streamKey(row) : nil)
      }
    return RowChange(name, String(rowID), found ?? .removed)
  }

  private func streamKey(_ row: Statement) -> StreamKey {
    let first = Int32(columns.count)
    return StreamKey(
      environment: Environment(rawValue: row.text(first)), bundleId: row.text(first + 1),
      originalTransactionId: row.text(first + 2))
  }
}

extension Shipment {
  /// Whether it has counts that waited (`WaitingCounts`).
  public var hasCounts: Bool {
    let overflow = "\(RowChange.meta)/\(Meta.Key.foreignOverflow.rawValue)"
    return notes.contains {
      $0.subject == overflow || $0.subject.hasPrefix("\(NotedTable.redelivery.name)/")
    }
  }
}

extension PackedEvent {
  /// Up to `limit` events after a seq, in order of seq, as they are stored.
  static func read(
    after seq: Int64, limit: Int, _ connection: SQLiteConnection
  ) throws(LedgerError) -> [PackedEvent] {
    try connection.statement(EventRow.select + "WHERE e.seq > ? ORDER BY e.seq LIMIT ?")
      .bind(1, seq).bind(2, Int64(limit)).all { row in
        PackedEvent(
          seq: row.int(0), envelope: EventRow.envelope(row), bodySHA256: row.bytes(10),
          hash: row.bytes(11), dictionary: row.optionalInt(13), body: row.bytes(12))
      }
  }
}

extension PackedDictionary {
  /// Up to `limit` dictionaries after an id, in order of id.
  static func read(
    after id: Int64, limit: Int, _ connection: SQLiteConnection
  ) throws(LedgerError) -> [PackedDictionary] {
    try connection.statement(
      "SELECT id, header_sha256, bytes, sha256 FROM dictionary WHERE id > ? ORDER BY id LIMIT ?"
    ).bind(1, id).bind(2, Int64(limit)).all { row in
      PackedDictionary(
        id: row.int(0), headerSHA256: row.bytes(1), bytes: row.bytes(2), sha256: row.bytes(3))
    }
  }
}
