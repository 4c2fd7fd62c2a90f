public import Platform

/// Reads a journal of its own for a shared journal that it becomes.
extension JournalReader {
  /// What the shared journal gets next: what this journal has behind a position, at most `limit` of
  /// each kind. Events come first, then the notes that say all that is beside the events; these are
  /// made in the same order each time, so that an interrupted upload is continued.
  ///
  /// - Returns: nil once everything is there.
  /// - Throws: `LedgerError.sharedDiverged` if this journal is not the one that was uploaded so
  ///   far, otherwise what SQLite reports.
  public func shipment(
    after place: JournalPosition, limit: Int
  ) throws(LedgerError) -> Shipment? {
    guard try hash(at: place.seq) == place.hash else { throw .sharedDiverged }
    let events = try PackedEvent.read(after: place.seq, limit: limit, connection)
    var shipment = Shipment(after: place, events: events, head: place)
    shipment.dictionaries = try PackedDictionary.read(
      after: place.dictionary, limit: limit, connection)
    if let last = events.last {
      shipment.head.seq = last.seq
      shipment.head.hash = last.hash
      shipment.head.receivedAt = last.receivedAt
    } else {
      shipment.notes = try notes(after: place, limit: limit)
      shipment.head.notes += Int64(shipment.notes.count)
      shipment.head.notesHash = ChangeRecorder.chain(shipment.notes, after: place)
    }
    shipment.head.dictionary = shipment.dictionaries.last?.id ?? place.dictionary
    return shipment.isEmpty ? nil : shipment
  }

  /// All notes of a journal that was never shared, with versions and hashes from the origin on.
  ///
  /// - Throws: what SQLite reports.
  public func allNotes() throws(LedgerError) -> [Note] {
    try notes(after: .origin, limit: .max)
  }

  private func notes(
    after place: JournalPosition, limit: Int
  ) throws(LedgerError) -> [Note] {
    var left = place.notes
    var changes: [RowChange] = []
    for table in NotedTable.all {
      let rowIDs = try connection.statement(
        "SELECT \(table.key) FROM \(table.name) ORDER BY \(table.key)"
      ).all { $0.int(0) }
      for rowID in rowIDs.dropFirst(Int(min(left, Int64(rowIDs.count)))) {
        guard changes.count < limit else { break }
        changes.append(try table.change(rowID, connection))
      }
      left = max(0, left - Int64(rowIDs.count))
    }
    for value in try valueChanges().dropFirst(Int(left)) where changes.count < limit {
      changes.append(value)
    }
    return ChangeRecorder.notes(changes, after: place)
  }

  /// Values of `meta`, and the ids up to which rows came and went.
  private func valueChanges() throws(LedgerError) -> [RowChange] {
    var changes: [RowChange] = []
    for (key, value) in zip(NotedTable.noted, try CopyState.values(connection)) {
      if let value { changes.append(RowChange(RowChange.meta, key.rawValue, .value(value))) }
    }
    for table in NotedTable.all where table.isAutoincrement {
      let last = try connection.statement("SELECT seq FROM sqlite_sequence WHERE name = ?")
        .bind(1, table.name).first { $0.int(0) }
      let isThere = try connection.statement(
        "SELECT 1 FROM \(table.name) WHERE \(table.key) = ?"
      ).bind(1, last).first { _ in true }
      if let last, isThere == nil {
        changes.append(RowChange(table.name, String(last), .removed))
      }
    }
    return changes
  }
}

extension Journal {
  /// Makes a journal of its own, all of which was uploaded, a copy of its shared journal.
  ///
  /// - Parameter place: how far the upload is.
  /// - Throws: `LedgerError.sharedDiverged` if that is not all; what SQLite reports.
  public func becomeCopy(at place: JournalPosition) throws(LedgerError) {
    guard place.head == head else { throw .sharedDiverged }
    try transact { (connection) throws(LedgerError) in
      let meta = Meta(connection: connection)
      try meta.set(.shared, 1)
      try meta.set(.notes, place.notes)
      try meta.set(.notesHash, place.notesHash)
    }
  }

  /// Makes the folder's copy a journal of its own again. It never follows its shared journal any
  /// more, and what it appends is in no other copy.
  ///
  /// - Parameter lock: this folder's lock.
  /// - Returns: false if it was no copy; nothing was changed then.
  /// - Throws: what `StartUp` and SQLite report.
  public static func detach(
    _ folder: DataFolder, lock: borrowing FolderLock, now: Int64
  ) throws(LedgerError) -> Bool {
    try folder.requireJournal()
    let reader = try JournalReader.open(folder)
    let isCopy = try reader.isCopy()
    reader.close()
    guard isCopy else { return false }
    let journal = try open(folder, lock: lock, now: now, sharedId: { $0 })
    try journal.transact { (connection) throws(LedgerError) in
      try Meta(connection: connection).set(.shared, 0)
    }
    try journal.close()
    return true
  }
}
