import AppStore
import Platform
import SignedData

/// Applies the notes that a copy follows.
extension Journal {
  /// Follows notes: their places in the chain, and what they say. Receipts come first, because held
  /// evidence is proven with them.
  func follow(
    _ notes: [Note], _ state: inout CopyState, _ connection: SQLiteConnection
  ) throws(LedgerError) {
    for note in notes {
      guard note.version == state.notes + 1 else { throw .sharedDiverged }
      state.notes = note.version
      state.notesHash = note.chain(after: state.notesHash)
    }
    // What a cleared one was about is gone, as a later note says.
    let said = notes.filter { !$0.isCleared }
    let receipts = said.filter { $0.isAbout(.receipt) }
    for note in receipts { try follow(note, connection) }
    for note in said where !note.isAbout(.receipt) { try follow(note, connection) }
    if !receipts.isEmpty { try applySkipped(.unproven, connection) }
  }

  private func follow(_ note: Note, _ connection: SQLiteConnection) throws(LedgerError) {
    if let reason = try apply(note, connection) { try skip(note, reason, connection) }
  }

  /// Why a note was not applied.
  enum SkipReason: String {
    case newer, invalid, unproven
  }

  /// Writes what a note says, or nothing.
  ///
  /// - Returns: nil if it was written.
  private func apply(
    _ note: Note, _ connection: SQLiteConnection
  ) throws(LedgerError) -> SkipReason? {
    guard SHA256.hash(note.body) == note.sha256, let change = RowChange(note) else {
      return .invalid
    }
    try forgetSkipped(change.row, connection)
    let waiting = waitingStreams
    var reason: SkipReason?
    do throws(LedgerError) {
      reason = try connection.undoing { () throws(LedgerError) in
        try self.apply(change, connection)
      }
    } catch {
      // A constraint or a trigger of the table refused it.
      guard error.code == .sql else { throw error }
      reason = .invalid
    }
    if reason != nil {
      try readCounts(connection)
      // The notes before it may have made streams wait, which the file does not say yet.
      waitingStreams = waiting
    }
    return reason
  }

  private func apply(
    _ change: RowChange, _ connection: SQLiteConnection
  ) throws(LedgerError) -> SkipReason? {
    if change.table == RowChange.meta { return try apply(value: change, connection) }
    guard let table = NotedTable.named(change.table) else { return .newer }
    guard let rowID = change.rowID, try isPossible(rowID, in: table, connection) else {
      return .invalid
    }
    switch change.content {
    case .removed: try remove(table, rowID, connection)
    case .row(let columns, let stream):
      guard Set(columns.keys).isSubset(of: table.columns) else { return .newer }
      try put(table, rowID, columns, stream, connection)
      if table.name == NotedTable.heldEvidence.name, let followedProof {
        let held = try HeldEvidence.read(rowID, connection, codec)
        return held.map(followedProof.isProven) ?? false ? nil : .unproven
      }
    case .value: return .invalid
    }
    return nil
  }

  private func apply(
    value change: RowChange, _ connection: SQLiteConnection
  ) throws(LedgerError) -> SkipReason? {
    guard case .value(let value) = change.content, value >= 0 else { return .invalid }
    guard let key = NotedTable.noted.first(where: { $0.rawValue == change.key }) else {
      return .newer
    }
    try Meta(connection: connection).set(key, value)
    return nil
  }

  /// Whether a program could have given a row this id: ids that are never used again would be used
  /// up by a single note otherwise, and no row could be added any more.
  private func isPossible(
    _ rowID: Int64, in table: NotedTable, _ connection: SQLiteConnection
  ) throws(LedgerError) -> Bool {
    guard table.isAutoincrement else { return true }
    let last =
      try connection.statement("SELECT seq FROM sqlite_sequence WHERE name = ?")
      .bind(1, table.name).first { $0.int(0) } ?? 0
    return rowID > 0 && rowID - max(0, last) < 1 << 40
  }

  // MARK: Notes that are not applied

  /// Keeps a note that is not applied. The id of its row is used up all the same, as it is in the
  /// copies that did apply it.
  private func skip(
    _ note: Note, _ reason: SkipReason, _ connection: SQLiteConnection
  ) throws(LedgerError) {
    try connection.statement(
      "INSERT INTO skipped_note (version, subject, sha256, reason, body) VALUES (?, ?, ?, ?, ?)"
    ).bind(1, note.version).bind(2, note.subject).bind(3, note.sha256).bind(4, reason.rawValue)
      .bind(5, note.body).run()
    if let change = RowChange(subject: note.subject), let rowID = change.rowID,
      let table = NotedTable.named(change.table), table.isAutoincrement,
      try isPossible(rowID, in: table, connection)
    {
      try Self.raiseSequence(table.name, rowID, connection)
    }
    try readFaults(connection)
  }

  /// Removes a note that was kept and that a later one about the same row replaces: what it says
  /// may be personal.
  private func forgetSkipped(_ row: String, _ connection: SQLiteConnection) throws(LedgerError) {
    guard faults.skippedNotes > 0 else { return }
    try connection.statement("DELETE FROM skipped_note WHERE subject = ?").bind(1, row).run()
    guard connection.changes > 0 else { return }
    try recordErasure(connection)
    try readFaults(connection)
  }

  /// Applies notes that were skipped, where that is possible now.
  func applySkipped(
    _ reason: SkipReason, _ connection: SQLiteConnection
  ) throws(LedgerError) {
    guard faults.skippedNotes > 0 else { return }
    let notes = try connection.statement(
      "SELECT version, subject, sha256, body FROM skipped_note WHERE reason = ? ORDER BY version"
    ).bind(1, reason.rawValue).all { row in
      Note(version: row.int(0), subject: row.text(1), sha256: row.bytes(2), body: row.bytes(3))
    }
    for note in notes {
      try connection.statement("DELETE FROM skipped_note WHERE version = ?")
        .bind(1, note.version).run()
      try follow(note, connection)
    }
    try readFaults(connection)
  }

  // MARK: Rows

  private func remove(
    _ table: NotedTable, _ rowID: Int64, _ connection: SQLiteConnection
  ) throws(LedgerError) {
    try table.digest?.remove([rowID], connection)
    try count(table, rowID, -1, connection)
    try connection.statement("DELETE FROM \(table.name) WHERE \(table.key) = ?").bind(1, rowID)
      .run()
    if table.name == NotedTable.account.name, connection.changes > 0 {
      try recordErasure(connection)
    }
    // The row may have come and gone unseen.
    if table.isAutoincrement { try Self.raiseSequence(table.name, rowID, connection) }
  }

  /// Ids up to this one are never used again (sqlite.org/autoinc.html).
  private static func raiseSequence(
    _ table: String, _ rowID: Int64, _ connection: SQLiteConnection
  ) throws(LedgerError) {
    try connection.statement("UPDATE sqlite_sequence SET seq = max(seq, ?2) WHERE name = ?1")
      .bind(1, table).bind(2, rowID).run()
    guard connection.changes == 0 else { return }
    try connection.statement("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)")
      .bind(1, table).bind(2, rowID).run()
  }

  private func put(
    _ table: NotedTable, _ rowID: Int64, _ columns: [String: QueryValue], _ stream: StreamKey?,
    _ connection: SQLiteConnection
  ) throws(LedgerError) {
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
    if exists { try table.digest?.remove([rowID], connection) }
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
      waitingStreams.add(id)
    }
  }

  /// Keeps what the journal counts in memory. Called while the row is there.
  private func count(
    _ table: NotedTable, _ rowID: Int64, _ change: Int, _ connection: SQLiteConnection
  ) throws(LedgerError) {
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

extension Note {
  fileprivate func isAbout(_ table: NotedTable) -> Bool { subject.hasPrefix("\(table.name)/") }
}
