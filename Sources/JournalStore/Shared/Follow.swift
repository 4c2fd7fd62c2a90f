import AppStore
import SignedData

/// Writes what a shared journal has behind a copy (T3, T4 of `SharedJournal`).
extension Journal {
  /// Writes a tail at the places and with the hashes that it has, in one SQL transaction.
  ///
  /// Each event must be at the head + 1 with the hash that `ChainHash` gives, and its body must
  /// have the hash that the chain covers; each note must continue the chain of notes.
  ///
  /// - Throws: `StoreError.shared(.diverged)` if the tail does not continue this copy;
  ///   `.shared(.broken)` if a body, a note or a dictionary is not what its hash says;
  ///   `.shared(.refused)` for a note of a newer program; otherwise what SQLite reports. Nothing
  ///   was written then.
  public func follow(_ tail: JournalTail) throws(StoreError) {
    guard let copy else { throw .sql("a journal that is no copy cannot follow") }
    guard tail.head.seq >= head.seq, tail.head.notes >= copy.notes else {
      throw .shared(.diverged)
    }
    if tail.dictionaries.isEmpty && tail.events.isEmpty && tail.notes.isEmpty {
      guard !tail.isWhole || isAt(tail.head, copy) else { throw .shared(.diverged) }
    } else {
      let followed = try transact { (connection) throws(StoreError) in
        var state = copy
        for item in tail.dictionaries { try follow(item, &state, connection) }
        for event in tail.events { try follow(event, connection) }
        for note in tail.notes { try follow(note, &state, connection) }
        state.values = try CopyState.values(connection)
        try state.write(connection)
        try storeWaiting(connection)
        guard !tail.isWhole || isAt(tail.head, state) else { throw .shared(.diverged) }
        return state
      }
      self.copy = followed
      // It may have a better dictionary for the latest header, or have removed a receipt.
      if !tail.dictionaries.isEmpty || !tail.notes.isEmpty { codec.forget() }
    }
  }

  private func isAt(_ other: JournalPosition, _ state: CopyState) -> Bool {
    head.seq == other.seq && head.hash == other.hash && state.notes == other.notes
      && state.notesHash == other.notesHash
  }

  private func follow(
    _ item: PackedDictionary, _ state: inout CopyState, _ connection: SQLiteConnection
  ) throws(StoreError) {
    guard item.id == state.dictionary + 1 else { throw .shared(.diverged) }
    guard SHA256.hash(item.bytes) == item.sha256 else {
      throw .shared(.broken(state: "dictionary \(item.id)"))
    }
    try connection.statement(
      "INSERT INTO dictionary (id, header_sha256, bytes, sha256) VALUES (?, ?, ?, ?)"
    ).bind(1, item.id).bind(2, item.headerSHA256).bind(3, item.bytes).bind(4, item.sha256).run()
    state.dictionary = item.id
  }

  private func follow(
    _ event: PackedEvent, _ connection: SQLiteConnection
  ) throws(StoreError) {
    guard event.seq == head.seq + 1, event.receivedAt >= head.receivedAt ?? .min,
      event.link.hash(after: head.hash) == event.hash
    else { throw .shared(.diverged) }
    try insert(event, connection)
    head = Head(seq: event.seq, hash: event.hash, receivedAt: event.receivedAt)
    if event.source == .v1 || event.source == .renewal {
      try RunningDigest.v1Apps.add([event.seq], connection)
    }
    // The receipt of an event is in a note, which may follow later and has a hash of its own.
    guard event.source != .receipt else { return }
    guard let body = try codec.decode(event.body, dictionary: event.dictionary),
      followedBodies.hash(body) == event.bodySHA256
    else { throw .shared(.broken(state: "the body of seq \(event.seq)")) }
    if event.source.isOwners { try followStatement(event, body, connection) }
    if event.source == .v1 {
      try V1Filing.accept(event.seq, body, under: event.originalTransactionId, connection)
    }
  }

  private func followStatement(
    _ event: PackedEvent, _ body: [UInt8], _ connection: SQLiteConnection
  ) throws(StoreError) {
    guard let statement = OwnerStatement(body: body) else {
      throw .shared(.broken(state: "the statement at seq \(event.seq)"))
    }
    try insertStatement(event.seq, statement.mac, try streamId(of: event, connection), connection)
  }

  // MARK: Notes

  private func follow(
    _ note: Note, _ state: inout CopyState, _ connection: SQLiteConnection
  ) throws(StoreError) {
    guard note.version == state.notes + 1 else { throw .shared(.diverged) }
    state.notes = note.version
    state.notesHash = note.chain(after: state.notesHash)
    // What it was about is gone, as a later note says.
    if note.isCleared { return }
    guard SHA256.hash(note.body) == note.sha256, let change = RowChange(note) else {
      throw .shared(.broken(state: "note \(note.version)"))
    }
    if change.table == RowChange.meta { return try follow(value: change, connection) }
    guard let table = NotedTable.named(change.table), let rowID = change.rowID else {
      throw .shared(.refused(state: "note \(note.version) of a newer program"))
    }
    switch change.content {
    case .removed: try remove(table, rowID, connection)
    case .row(let columns, let stream):
      guard Set(columns.keys).isSubset(of: table.columns) else {
        throw .shared(.refused(state: "note \(note.version) of a newer program"))
      }
      try put(table, rowID, columns, stream, connection)
    case .value: throw .shared(.broken(state: "note \(note.version)"))
    }
  }

  private func follow(
    value change: RowChange, _ connection: SQLiteConnection
  ) throws(StoreError) {
    guard let key = NotedTable.noted.first(where: { $0.rawValue == change.key }),
      case .value(let value) = change.content
    else { throw .shared(.refused(state: "a value of a newer program")) }
    try Meta(connection: connection).set(key, value)
  }

  private func remove(
    _ table: NotedTable, _ rowID: Int64, _ connection: SQLiteConnection
  ) throws(StoreError) {
    try table.digest?.remove(rowID, connection)
    try count(table, rowID, -1, connection)
    try connection.statement("DELETE FROM \(table.name) WHERE \(table.key) = ?").bind(1, rowID)
      .run()
    if table.name == NotedTable.account.name, connection.changes > 0 { hasErased = true }
    // The row may have come and gone unseen.
    if table.isAutoincrement { try Self.raiseSequence(table.name, rowID, connection) }
  }

  /// Ids up to this one are never used again (sqlite.org/autoinc.html).
  private static func raiseSequence(
    _ table: String, _ rowID: Int64, _ connection: SQLiteConnection
  ) throws(StoreError) {
    try connection.statement("UPDATE sqlite_sequence SET seq = max(seq, ?2) WHERE name = ?1")
      .bind(1, table).bind(2, rowID).run()
    guard connection.changes == 0 else { return }
    try connection.statement("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)")
      .bind(1, table).bind(2, rowID).run()
  }

  private func put(
    _ table: NotedTable, _ rowID: Int64, _ columns: [String: QueryValue], _ stream: StreamKey?,
    _ connection: SQLiteConnection
  ) throws(StoreError) {
    var columns = columns
    if let stream {
      columns["stream_id"] = .integer(
        try streamId(
          AppKey(environment: stream.environment, bundleId: stream.bundleId),
          stream.originalTransactionId, connection))
    }
    let exists =
      try connection.statement("SELECT 1 FROM \(table.name) WHERE \(table.key) = ?")
      .bind(1, rowID).first { _ in true } ?? false
    let names = table.columns.filter { columns[$0] != nil }
    if exists { try table.digest?.remove(rowID, connection) }
    let statement = try connection.statement(
      exists
        ? """
        UPDATE \(table.name) SET \(names.map { "\($0) = ?" }.joined(separator: ", "))
        WHERE \(table.key) = ?
        """
        : """
        INSERT INTO \(table.name) (\((names + [table.key]).joined(separator: ", ")))
        VALUES (\(repeatElement("?", count: names.count + 1).joined(separator: ", ")))
        """)
    for (index, name) in names.enumerated() {
      statement.bind(Int32(index + 1), columns[name] ?? .null)
    }
    try statement.bind(Int32(names.count + 1), rowID).run()
    try table.digest?.add([rowID], connection)
    if !exists { try count(table, rowID, 1, connection) }
    // Told again, it says that what is held about its stream is not judged (`Journal.wait`).
    if exists, table.name == NotedTable.heldEvidence.name,
      case .integer(let id) = columns["stream_id"]
    {
      markWaiting(id)
    }
  }

  /// Keeps what the journal counts in memory. Called while the row is there.
  private func count(
    _ table: NotedTable, _ rowID: Int64, _ change: Int, _ connection: SQLiteConnection
  ) throws(StoreError) {
    switch table.name {
    case NotedTable.quarantine.name: try countQuarantined(rowID, change, connection)
    case NotedTable.heldEvidence.name:
      let isThere = try connection.statement("SELECT 1 FROM held_evidence WHERE id = ?")
        .bind(1, rowID).first { _ in true }
      if isThere != nil { heldCount += Int64(change) }
    default: break
    }
  }
}

extension Statement {
  /// Binds a value of any of the types that notes have.
  func bind(_ index: Int32, _ value: QueryValue) {
    switch value {
    case .integer(let integer): bind(index, integer)
    case .text(let text): bind(index, text)
    case .blob(let bytes): bind(index, bytes)
    case .null, .real: bind(index, nil as Int64?)
    }
  }
}
