public import AppStore
public import Platform

/// Reads the events of one stream, that is one customer's history, and the streams themselves.
extension JournalReader {
  /// A stream's events in order of seq. Those marked as broken are left out.
  ///
  /// - Parameters:
  ///   - signedThrough: the latest signed date (Apple's time), in milliseconds since 1970 UTC.
  ///   - receivedThrough: the latest receive time (our time), in milliseconds since 1970 UTC.
  /// - Throws: `LedgerError.corrupt` when a body cannot be recovered, otherwise what SQLite
  ///   reports.
  public func events(
    of key: StreamKey, signedThrough: Int64 = .max, receivedThrough: Int64 = .max
  ) throws(LedgerError) -> [StoredEvent] {
    try connection.statement(
      EventRow.select + """
        WHERE e.stream_id = (
          SELECT stream.id FROM stream JOIN app ON app.id = stream.app_id
          WHERE original_transaction_id = ? AND environment = ? AND bundle_id = ?)
        AND e.signed_date_ms <= ? AND e.received_at_ms <= ? AND \(CopyFaults.isReadable)
        ORDER BY e.seq
        """
    ).bind(1, key.originalTransactionId).bind(2, key.environment.rawValue).bind(3, key.bundleId)
      .bind(4, signedThrough).bind(5, receivedThrough).all(readable)
  }

  /// Calls `body` with each event of a stream in order of seq, within the same bounds as
  /// `events(of:)`. The event has an empty body; beside it is the payload that the fold reads, with
  /// the content `unreadable` if the stored body cannot be recovered.
  ///
  /// - Throws: what SQLite reports, and what `body` throws.
  public func forEachEvent(
    of key: StreamKey, signedThrough: Int64 = .max, receivedThrough: Int64 = .max,
    _ body: (StoredEvent, JournaledPayload) throws(LedgerError) -> Void
  ) throws(LedgerError) {
    try connection.statement(
      EventRow.select(body: CopyFaults.body) + """
        WHERE e.stream_id = \(Self.streamId)
        AND e.signed_date_ms <= ? AND e.received_at_ms <= ? AND \(CopyFaults.isProven)
        ORDER BY e.seq
        """
    ).bind(1, key.originalTransactionId).bind(2, key.environment.rawValue).bind(3, key.bundleId)
      .bind(4, signedThrough).bind(5, receivedThrough).forEach { (row) throws(LedgerError) in
        let event = EventRow.event(row, body: [])
        let (content, parts) = try codec.payload(
          row.bytes(12), dictionary: row.optionalInt(13), source: event.source,
          of: event.originalTransactionId)
        try body(
          event,
          JournaledPayload(
            seq: event.seq, source: event.source, uuid: event.notificationUUID, content: content,
            parts: parts))
        return true
      }
  }

  /// The seqs of a stream's events, ascending.
  ///
  /// - Throws: what SQLite reports.
  public func seqs(of key: StreamKey) throws(LedgerError) -> [Int64] {
    try connection.statement(
      "SELECT seq FROM event WHERE stream_id = \(Self.streamId) ORDER BY seq"
    )
    .bind(1, key.originalTransactionId).bind(2, key.environment.rawValue).bind(3, key.bundleId)
    .all { $0.int(0) }
  }

  /// Whether a stream has a proven event after a seq.
  ///
  /// - Throws: what SQLite reports.
  public func hasEvents(of key: StreamKey, after seq: Int64) throws(LedgerError) -> Bool {
    try Self.hasEvents(of: key, after: seq, connection)
  }

  static func hasEvents(
    of key: StreamKey, after seq: Int64, _ connection: SQLiteConnection
  ) throws(LedgerError) -> Bool {
    try connection.statement(
      """
      SELECT 1 FROM event e WHERE stream_id = \(streamId) AND seq > ? AND \(CopyFaults.isProven)
      LIMIT 1
      """
    ).bind(1, key.originalTransactionId).bind(2, key.environment.rawValue).bind(3, key.bundleId)
      .bind(4, seq).first { _ in true } ?? false
  }

  /// Whether a stream has a proven event up to a seq.
  ///
  /// - Throws: what SQLite reports.
  public func hasEvents(of key: StreamKey, through seq: Int64) throws(LedgerError) -> Bool {
    try connection.statement(
      """
      SELECT 1 FROM event e WHERE stream_id = \(Self.streamId) AND seq <= ?
        AND \(CopyFaults.isProven) LIMIT 1
      """
    ).bind(1, key.originalTransactionId).bind(2, key.environment.rawValue).bind(3, key.bundleId)
      .bind(4, seq).first { _ in true } ?? false
  }

  /// The streams that have a proven event after a seq.
  ///
  /// - Throws: what SQLite reports.
  public func streams(withEventsAfter seq: Int64) throws(LedgerError) -> [StreamKey] {
    try connection.statement(
      """
      SELECT environment, bundle_id, original_transaction_id
      FROM (SELECT DISTINCT stream_id AS id FROM event e WHERE seq > ? AND \(CopyFaults.isProven))
        JOIN stream USING (id) JOIN app ON app.id = stream.app_id
      WHERE original_transaction_id IS NOT NULL
      """
    ).bind(1, seq).all { row in
      StreamKey(
        environment: Environment(rawValue: row.text(0)), bundleId: row.text(1),
        originalTransactionId: row.text(2))
    }
  }

  /// The streams with this original transaction id, in key order: one for each app and environment.
  ///
  /// - Throws: what SQLite reports.
  public func streams(
    withOriginalTransactionId id: String
  ) throws(LedgerError) -> [StreamKey] {
    try connection.statement(
      """
      SELECT environment, bundle_id FROM stream JOIN app ON app.id = stream.app_id
      WHERE original_transaction_id = ? ORDER BY environment, bundle_id
      """
    ).bind(1, id).all { row in
      StreamKey(
        environment: Environment(rawValue: row.text(0)), bundleId: row.text(1),
        originalTransactionId: id)
    }
  }

  /// The key of a stream, or nil if there is no such stream or its events have no transaction.
  ///
  /// - Throws: what SQLite reports.
  public func streamKey(_ id: Int64) throws(LedgerError) -> StreamKey? {
    try Self.streamKey(id, connection)
  }

  static func streamKey(
    _ id: Int64, _ connection: SQLiteConnection
  ) throws(LedgerError) -> StreamKey? {
    try connection.statement(
      """
      SELECT environment, bundle_id, original_transaction_id
      FROM stream LEFT JOIN app ON app.id = stream.app_id
      WHERE stream.id = ? AND original_transaction_id IS NOT NULL
      """
    ).bind(1, id).first { row in
      StreamKey(
        environment: Environment(rawValue: row.text(0)), bundleId: row.text(1),
        originalTransactionId: row.text(2))
    }
  }

  /// The greatest id of a stream, or 0 if there is none. Ids count from 1.
  ///
  /// - Throws: `LedgerError.corrupt` when the id is impossible, otherwise what SQLite reports.
  public func lastStreamId() throws(LedgerError) -> Int64 {
    let id = try connection.statement("SELECT max(id) FROM stream").first { $0.int(0) } ?? 0
    // Ids are dense, and no disk has so many streams: below, sums of ids cannot overflow.
    guard id < 1 << 40 else { throw .corrupt("the last stream's id is impossibly large") }
    return id
  }

  /// The number of streams with a proven event up to a seq, which is the number of rows of a
  /// projection folded that far.
  ///
  /// - Throws: what SQLite reports.
  public func streamCount(through seq: Int64) throws(LedgerError) -> Int64 {
    try connection.statement(
      """
      SELECT count(*) FROM stream s WHERE original_transaction_id IS NOT NULL
        AND EXISTS (SELECT 1 FROM event e WHERE e.stream_id = s.id AND e.seq <= ?
          AND \(CopyFaults.isProven))
      """
    ).bind(1, seq).first { $0.int(0) } ?? 0
  }

  /// The id of the stream whose key is bound to the next three parameters.
  static let streamId = """
    (SELECT stream.id FROM stream JOIN app ON app.id = stream.app_id
      WHERE original_transaction_id = ? AND environment = ? AND bundle_id = ?)
    """
}
