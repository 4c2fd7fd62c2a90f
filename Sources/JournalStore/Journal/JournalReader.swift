/// Reads the journal through a connection of its own that cannot write; one per thread.
///
/// Every call sees a whole state of the file; several may see several, unless they lie between
/// `beginSnapshot` and `endSnapshot`.
public final class JournalReader {
  let connection: SQLiteConnection
  let codec: BodyCodec

  /// Opens a folder's journal, beside a running daemon or at rest. Creates no file where nobody
  /// holds the folder and no -wal is left.
  ///
  /// - Throws: `foreign` where there is no journal of ours, `newer`.
  public static func open(_ folder: DataFolder) throws(StoreError) -> JournalReader {
    guard try folder.hasJournal() else {
      throw .foreign("there is no journal.sqlite in \(folder.path)")
    }
    let mode = try folder.readingMode(folder.journal)
    let connection = try SQLiteConnection.open(folder.journal, mode)
    _ = try connection.requireOurs(
      folder.journal, mark: StartUp.journalMark, known: Migrator.known)
    return JournalReader(connection)
  }

  init(_ connection: SQLiteConnection) {
    self.connection = connection
    codec = BodyCodec(shelf: DictionaryStore(connection))
  }

  /// Ends it; nothing may be asked afterwards. What is not closed ends with the reader.
  public func close() { connection.close() }

  public func beginSnapshot() throws(StoreError) { try connection.beginSnapshot() }

  public func endSnapshot() { connection.endSnapshot() }

  public func head() throws(StoreError) -> Head { try Journal.readHead(connection) }

  public func journalId() throws(StoreError) -> [UInt8] {
    try Meta(connection: connection).bytes(.journalId) ?? []
  }

  /// hash[seq]; nil past the head.
  public func hash(at seq: Int64) throws(StoreError) -> [UInt8]? {
    if seq == 0 { return ChainHash.origin }
    return try connection.statement("SELECT hash FROM event WHERE seq = ?").bind(1, seq)
      .first { $0.bytes(0) }
  }

  /// Up to `limit` events past a seq, in order.
  public func events(after seq: Int64, limit: Int) throws(StoreError) -> [StoredEvent] {
    try connection.statement(EventRow.select + "WHERE e.seq > ? ORDER BY e.seq LIMIT ?")
      .bind(1, seq).bind(2, Int64(limit)).all(readable).inOrder(after: seq) { $0.seq }
  }

  /// Every event of a range, in order, while `body` answers true. No read transaction is kept
  /// between pieces, so the writer's -wal does not grow behind a long reading.
  public func forEach(
    from first: Int64, through last: Int64, _ body: (StoredEvent) -> Bool
  ) throws(StoreError) {
    var next = first
    while next <= last {
      let piece = try events(after: next - 1, limit: Self.pieceCount)
      for event in piece where event.seq <= last {
        guard body(event) else { return }
      }
      guard let end = piece.last else { return }
      next = end.seq + 1
    }
  }

  /// Events read in one go.
  static let pieceCount = 500

  /// As `forEach`, for those who doubt the file: a body that cannot be recovered is no error.
  public func forEachRaw(
    from first: Int64, through last: Int64, _ body: (RawEvent) -> Bool
  ) throws(StoreError) {
    var next = first
    while next <= last {
      let piece = try connection.statement(
        EventRow.select + "WHERE e.seq BETWEEN ? AND ? ORDER BY e.seq LIMIT \(Self.pieceCount)"
      ).bind(1, next).bind(2, last).all(raw).inOrder(after: next - 1) { $0.event.seq }
      for event in piece {
        guard body(event) else { return }
      }
      guard let end = piece.last else { return }
      next = end.event.seq + 1
    }
  }

  /// A stream's events in the order of seq, up to Apple's time and ours, both included.
  public func events(
    of key: StreamKey, signedThrough: Int64 = .max, receivedThrough: Int64 = .max
  ) throws(StoreError) -> [StoredEvent] {
    try connection.statement(
      EventRow.select + """
        WHERE e.stream_id = (
          SELECT stream.id FROM stream JOIN app ON app.id = stream.app_id
          WHERE original_transaction_id = ? AND environment = ? AND bundle_id = ?)
        AND e.signed_date_ms <= ? AND e.received_at_ms <= ? ORDER BY e.seq
        """
    ).bind(1, key.originalTransactionId).bind(2, key.environment).bind(3, key.bundleId)
      .bind(4, signedThrough).bind(5, receivedThrough).all(readable)
  }

  /// How many streams have an event up to a seq: as many rows a projection folded so far has.
  public func streamCount(through seq: Int64) throws(StoreError) -> Int64 {
    try connection.statement(
      """
      SELECT count(*) FROM stream s WHERE original_transaction_id IS NOT NULL
        AND EXISTS (SELECT 1 FROM event e WHERE e.stream_id = s.id AND e.seq <= ?)
      """
    ).bind(1, seq).first { $0.int(0) } ?? 0
  }

  public func event(seq: Int64) throws(StoreError) -> StoredEvent? {
    try connection.statement(EventRow.select + "WHERE e.seq = ?").bind(1, seq).first(readable)
  }

  /// - Parameter notificationUUID: lower case, with hyphens; anything else finds nothing.
  public func event(notificationUUID: String) throws(StoreError) -> StoredEvent? {
    guard let uuid = NotificationUUID.bytes(notificationUUID) else { return nil }
    return try connection.statement(EventRow.select + "WHERE e.notification_uuid = ?")
      .bind(1, uuid).first(readable)
  }

  /// The streams with this original transaction id, in key order: one for each app that has it.
  public func streams(
    withOriginalTransactionId id: String
  ) throws(StoreError) -> [StreamKey] {
    try connection.statement(
      """
      SELECT environment, bundle_id FROM stream JOIN app ON app.id = stream.app_id
      WHERE original_transaction_id = ? ORDER BY environment, bundle_id
      """
    ).bind(1, id).all { row in
      StreamKey(environment: row.text(0), bundleId: row.text(1), originalTransactionId: id)
    }
  }

  func readable(_ row: Statement) throws(StoreError) -> StoredEvent {
    let raw = try raw(row)
    guard raw.isBodyReadable else { throw .corrupt("the body of seq \(raw.event.seq)") }
    return raw.event
  }

  private func raw(_ row: Statement) throws(StoreError) -> RawEvent {
    try EventRow.read(row, codec)
  }

  func body(_ stored: [UInt8], _ dictionary: Int64?) throws(StoreError) -> [UInt8]? {
    try codec.decode(stored, dictionary: dictionary)
  }
}
