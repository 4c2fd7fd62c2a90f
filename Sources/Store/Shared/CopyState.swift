public import Platform

/// What a journal knows as a copy of a shared journal, beside its tables.
struct CopyState {
  let changes = ChangedRows()
  /// As in `JournalPosition`.
  var notes: Int64
  var notesHash: [UInt8]
  var dictionary: Int64
  /// The values of `NotedTable.noted`, in its order.
  var values: [Int64?]

  /// Reads it from the file.
  init(_ connection: SQLiteConnection) throws(LedgerError) {
    let meta = Meta(connection: connection)
    notes = try meta.int(.notes) ?? 0
    notesHash = try meta.bytes(.notesHash) ?? ChainHash.origin
    dictionary = try Self.lastDictionary(connection)
    values = try Self.values(connection)
  }

  /// The same in a state that was changed, with the same recorder.
  mutating func read(_ connection: SQLiteConnection) throws(LedgerError) {
    let read = try CopyState(connection)
    (notes, notesHash) = (read.notes, read.notesHash)
    (dictionary, values) = (read.dictionary, read.values)
  }

  static func lastDictionary(_ connection: SQLiteConnection) throws(LedgerError) -> Int64 {
    try connection.statement("SELECT coalesce(max(id), 0) FROM dictionary").first { $0.int(0) } ?? 0
  }

  static func values(_ connection: SQLiteConnection) throws(LedgerError) -> [Int64?] {
    let meta = Meta(connection: connection)
    return try NotedTable.noted.map { (key) throws(LedgerError) in try meta.int(key) }
  }

  /// Stores how far the notes are.
  func write(_ connection: SQLiteConnection) throws(LedgerError) {
    let meta = Meta(connection: connection)
    try meta.set(.notes, notes)
    try meta.set(.notesHash, notesHash)
  }
}

extension Journal {
  /// Whether the journal is a copy of a shared journal.
  public var isCopy: Bool { copy != nil }

  /// How far the journal is. Notes are counted only in a copy.
  public var position: JournalPosition {
    JournalPosition(
      seq: head.seq, hash: head.hash, receivedAt: head.receivedAt, notes: copy?.notes ?? 0,
      notesHash: copy?.notesHash ?? ChainHash.origin, dictionary: copy?.dictionary ?? 0)
  }

  /// SHA-256 of the dictionary of `position`; nil if there is none.
  ///
  /// - Throws: what SQLite reports.
  public func lastDictionaryHash() throws(LedgerError) -> [UInt8]? {
    try connection().statement("SELECT sha256 FROM dictionary ORDER BY id DESC LIMIT 1")
      .first { $0.bytes(0) }
  }

  /// Gets all that one SQL transaction wrote, and what the transaction results in, before it is
  /// committed here. What it throws rolls the transaction back.
  public typealias Shipper<Result> = (Shipment, Result) throws(LedgerError) -> Void
}

/// Whether a folder's journal is a journal of its own or a copy of a shared one.
extension Journal {
  /// Checks that the journal is what its opener takes it for.
  ///
  /// - Parameter sharedId: as in `open`.
  /// - Returns: whether it is a copy.
  static func requireRole(
    of connection: SQLiteConnection, _ sharedId: (([UInt8]) throws(LedgerError) -> [UInt8])?
  ) throws(LedgerError) -> Bool {
    let meta = Meta(connection: connection)
    let isCopy = try meta.int(.shared) == 1
    guard let sharedId else {
      if isCopy { throw .copyWithoutSharedJournal }
      return false
    }
    guard isCopy else {
      throw .foreign(
        "the folder holds a journal of its own; upload it with `subledger shared-journal init "
          + "--from FOLDER`, or give an empty --data")
    }
    let own = try meta.bytes(.journalId) ?? []
    guard try sharedId(own) == own else {
      throw .foreign("the folder is a copy of another shared journal")
    }
    return true
  }
}
