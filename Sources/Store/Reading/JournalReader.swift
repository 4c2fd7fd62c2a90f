public import AppStore
public import Entitlements
public import Platform

/// Reads the journal through its own read-only connection. Use one per thread.
///
/// Each call sees the journal as of one commit. Several calls only see the same commit between
/// `beginSnapshot` and `endSnapshot`.
public final class JournalReader {
  let connection: SQLiteConnection
  let codec: BodyCodec
  /// The rules by which rows are made from the journal.
  public let fold: Fold
  /// The newest migration that was seen in the journal: they only go forward.
  private var migration: Int64 = 0

  /// Opens a folder's journal, with or without a running daemon. Creates no file if no process
  /// holds the folder and there is no -wal.
  ///
  /// - Parameter isPassing: for a reader that goes through the file once, and needs little memory.
  /// - Throws: `LedgerError.noJournal` when there is none, `.newer` when its schema is newer,
  ///   otherwise what SQLite or the file system reports.
  public static func open(
    _ folder: DataFolder, isPassing: Bool = false
  ) throws(LedgerError) -> JournalReader {
    try folder.requireJournal()
    let mode = try folder.readingMode(folder.journal)
    let connection = try SQLiteConnection.open(folder.journal, mode)
    _ = try connection.requireOurs(
      folder.journal, applicationId: StartUp.journalApplicationId, known: Migrator.known)
    if isPassing { try connection.limitCache() }
    return try JournalReader(connection, folder.fold)
  }

  init(_ connection: SQLiteConnection, _ fold: Fold) throws(LedgerError) {
    self.connection = connection
    self.fold = fold
    codec = BodyCodec(
      dictionaries: DictionaryStore(connection), receipts: ReceiptStore(connection))
    try standInForFaults()
  }

  /// Closes the connection; the reader must not be used afterwards. `deinit` closes it as well.
  public func close() { connection.close() }

  /// Has every read ask a limit while it runs, and fail with `LedgerError.stopped` when it must
  /// end.
  public func ask(_ limit: WorkLimit) { connection.ask(limit) }

  /// Makes the calls that follow see one commit, until `endSnapshot`.
  ///
  /// - Throws: what SQLite reports.
  public func beginSnapshot() throws(LedgerError) { try connection.beginSnapshot() }

  public func endSnapshot() { connection.endSnapshot() }

  /// The newest event.
  ///
  /// - Throws: `LedgerError.corrupt` when its seq is impossible, otherwise what SQLite reports.
  public func head() throws(LedgerError) -> Head { try Journal.readHead(connection) }

  /// The 16 random bytes that identify the journal.
  ///
  /// - Throws: what SQLite reports.
  public func journalId() throws(LedgerError) -> [UInt8] {
    try Meta(connection: connection).bytes(.journalId) ?? []
  }

  /// Whether the journal has the tables and columns of migration 2. A reader may open a journal to
  /// which no writer has applied it yet.
  func hasHistory() throws(LedgerError) -> Bool { try hasMigration(2) }

  /// Whether the journal has the table of held evidence.
  func hasEvidence() throws(LedgerError) -> Bool { try hasMigration(5) }

  /// Whether the journal has the tables of accounts and statements.
  func hasAccounts() throws(LedgerError) -> Bool { try hasMigration(6) }
  func hasClaims() throws(LedgerError) -> Bool { try hasMigration(10) }

  func hasMigration(_ number: Int64) throws(LedgerError) -> Bool {
    if migration < number {
      migration = try connection.statement("PRAGMA user_version").first { $0.int(0) } ?? 0
    }
    return migration >= number
  }

  /// hash[seq], or nil if seq is past the head.
  ///
  /// - Throws: what SQLite reports.
  public func hash(at seq: Int64) throws(LedgerError) -> [UInt8]? {
    if seq == 0 { return ChainHash.origin }
    return try connection.statement("SELECT hash FROM event WHERE seq = ?").bind(1, seq)
      .first { $0.bytes(0) }
  }

  /// When the event at a seq was received, milliseconds since 1970; nil if there is none.
  ///
  /// - Throws: what SQLite reports.
  public func receivedAt(of seq: Int64) throws(LedgerError) -> Int64? {
    try connection.statement("SELECT received_at_ms FROM event WHERE seq = ?").bind(1, seq)
      .first { $0.int(0) }
  }

  /// Up to `limit` events after a seq, in order of seq. Those marked as broken are left out.
  ///
  /// - Throws: `LedgerError.corrupt` when a body cannot be recovered or the file returns rows out
  ///   of order, otherwise what SQLite reports.
  public func events(after seq: Int64, limit: Int) throws(LedgerError) -> [StoredEvent] {
    try connection.statement(
      EventRow.select + "WHERE e.seq > ? AND \(CopyFaults.isReadable) ORDER BY e.seq LIMIT ?"
    ).bind(1, seq).bind(2, Int64(limit)).all(readable).ascending(after: seq) { $0.seq }
  }

  /// Calls `body` with every event of a range in order of seq, until it returns false. No read
  /// transaction stays open between batches, so that the writer can shorten its -wal meanwhile.
  ///
  /// - Throws: as `events(after:limit:)`.
  public func forEach(
    from first: Int64, through last: Int64, _ body: (StoredEvent) -> Bool
  ) throws(LedgerError) {
    var next = first
    while next <= last {
      let batch = try events(after: next - 1, limit: Self.batchSize)
      for event in batch where event.seq <= last {
        guard body(event) else { return }
      }
      guard let end = batch.last else { return }
      next = end.seq + 1
    }
  }

  /// The number of events read in one SQL query.
  static let batchSize = 500

  /// Like `forEach`, for checks of a file that may be damaged: a body that cannot be recovered is
  /// no error.
  ///
  /// - Throws: `LedgerError.corrupt` when the file returns rows out of order, otherwise what SQLite
  ///   reports.
  public func forEachRaw(
    from first: Int64, through last: Int64, _ body: (RawEvent) -> Bool
  ) throws(LedgerError) {
    var next = first
    while next <= last {
      let batch = try connection.statement(
        EventRow.select + "WHERE e.seq BETWEEN ? AND ? ORDER BY e.seq LIMIT \(Self.batchSize)"
      ).bind(1, next).bind(2, last).all(raw).ascending(after: next - 1) { $0.event.seq }
      for event in batch {
        guard body(event) else { return }
      }
      guard let end = batch.last else { return }
      next = end.event.seq + 1
    }
  }

  /// The event at `seq`, or nil if there is none, or it is marked as broken.
  ///
  /// - Throws: `LedgerError.corrupt` when its body cannot be recovered, otherwise what SQLite
  ///   reports.
  public func event(seq: Int64) throws(LedgerError) -> StoredEvent? {
    try connection.statement(EventRow.select + "WHERE e.seq = ? AND \(CopyFaults.isReadable)")
      .bind(1, seq).first(readable)
  }

  /// The event with this UUID, or nil if there is none, or it is marked as broken.
  ///
  /// - Throws: `LedgerError.corrupt` when its body cannot be recovered, otherwise what SQLite
  ///   reports.
  public func event(notificationUUID uuid: NotificationUUID) throws(LedgerError) -> StoredEvent? {
    try connection.statement(
      EventRow.select + "WHERE e.notification_uuid = ? AND \(CopyFaults.isReadable)"
    ).bind(1, uuid.bytes).first(readable)
  }

  /// Throws `LedgerError.corrupt` if the body cannot be recovered.
  func readable(_ row: Statement) throws(LedgerError) -> StoredEvent {
    let raw = try raw(row)
    guard raw.isBodyReadable else { throw .corrupt("the body of seq \(raw.event.seq)") }
    return raw.event
  }

  private func raw(_ row: Statement) throws(LedgerError) -> RawEvent {
    try EventRow.read(row, codec)
  }

  func body(_ stored: [UInt8], _ dictionary: Int64?) throws(LedgerError) -> [UInt8]? {
    try codec.decode(stored, dictionary: dictionary)
  }
}
