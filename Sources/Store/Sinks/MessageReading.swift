public import AppStore
public import Platform

/// What decides whether a sink gets an event, read without its body.
public struct MessageEvent: Sendable, Enveloped {
  public let seq: Int64
  public let envelope: EventEnvelope
  public let hash: [UInt8]
  /// The id of the event's stream; nil without a transaction.
  public let stream: Int64?
  /// An event whose word is damaged counts as posted; `verify` finds it.
  public let arrival: EventArrival
}

extension JournalReader {
  /// Events after a seq, through another one, in order.
  ///
  /// - Throws: what SQLite reports.
  public func messageEvents(
    after seq: Int64, through last: Int64, limit: Int
  ) throws(LedgerError) -> [MessageEvent] {
    try connection.statement(
      try hasArrivals() ? Self.messagesWithArrivals : Self.messages
    ).bind(1, seq).bind(2, last).bind(3, Int64(limit)).all { row in
      MessageEvent(
        seq: row.int(0), envelope: EventRow.envelope(row), hash: row.bytes(10),
        stream: row.optionalInt(11),
        arrival: row.optionalText(12).flatMap(EventArrival.init(rawValue:)) ?? .posted)
    }
  }

  /// Whether Apple asked about a refund in a stream, through a seq.
  ///
  /// - Throws: what SQLite reports.
  public func hasRefundRequest(
    in stream: Int64, through seq: Int64
  ) throws(LedgerError) -> Bool {
    try connection.statement(
      """
      SELECT 1 FROM event WHERE stream_id = ? AND seq <= ? AND kind_id IN (
        SELECT id FROM kind WHERE notification_type = 'CONSUMPTION_REQUEST') LIMIT 1
      """
    ).bind(1, stream).bind(2, seq).first { _ in true } ?? false
  }

  private static let messages = messages("NULL")
  private static let messagesWithArrivals = messages(
    "(SELECT t.how FROM arrival t WHERE t.seq = e.seq)")

  private static func messages(_ arrival: String) -> String {
    """
    SELECT \(EventRow.envelope), e.hash,
      CASE WHEN s.original_transaction_id IS NULL THEN NULL ELSE s.id END, \(arrival)
    FROM event e JOIN kind k ON k.id = e.kind_id LEFT JOIN stream s ON s.id = e.stream_id
      LEFT JOIN app a ON a.id = s.app_id
    WHERE e.seq > ? AND e.seq <= ? AND \(CopyFaults.isProven) ORDER BY e.seq LIMIT ?
    """
  }

  /// The number of an event within its stream, from 1, and the stream's event before it.
  ///
  /// - Throws: what SQLite reports.
  public func streamNumber(
    of seq: Int64, in key: StreamKey
  ) throws(LedgerError) -> (seq: Int64, previous: Int64?) {
    try connection.statement(
      "SELECT count(*) + 1, max(seq) FROM event WHERE stream_id = \(Self.streamId) AND seq < ?"
    ).bind(1, key.originalTransactionId).bind(2, key.environment.rawValue).bind(3, key.bundleId)
      .bind(4, seq).first { ($0.int(0), $0.optionalInt(1)) } ?? (1, nil)
  }

  /// The last event of a stream that was received by a time; nil if there is none.
  ///
  /// - Parameter time: milliseconds since 1970.
  /// - Throws: what SQLite reports.
  public func lastSeq(
    of key: StreamKey, receivedThrough time: Int64 = .max
  ) throws(LedgerError) -> Int64? {
    // Receive times never decrease along a stream, so the last ones are looked at first.
    try connection.statement(
      """
      SELECT seq FROM event WHERE stream_id = \(Self.streamId) AND received_at_ms <= ?
      ORDER BY seq DESC LIMIT 1
      """
    ).bind(1, key.originalTransactionId).bind(2, key.environment.rawValue).bind(3, key.bundleId)
      .bind(4, time).first { $0.int(0) }
  }

  /// The id of a stream in this journal; nil if it is in none.
  ///
  /// - Throws: what SQLite reports.
  public func streamId(of key: StreamKey) throws(LedgerError) -> Int64? {
    try connection.statement("SELECT \(Self.streamId)")
      .bind(1, key.originalTransactionId).bind(2, key.environment.rawValue).bind(3, key.bundleId)
      .first { $0.optionalInt(0) } ?? nil
  }

  /// The app and environment of an event; nil if there is none of this seq.
  ///
  /// - Throws: what SQLite reports.
  public func app(
    of seq: Int64
  ) throws(LedgerError) -> (environment: Environment, bundleId: String)? {
    try connection.statement(
      """
      SELECT a.environment, a.bundle_id FROM event e JOIN stream s ON s.id = e.stream_id
        JOIN app a ON a.id = s.app_id WHERE e.seq = ?
      """
    ).bind(1, seq).first { (Environment(rawValue: $0.text(0)), $0.text(1)) }
  }

  /// When an event was received, milliseconds since 1970; nil if there is none of this seq.
  ///
  /// - Throws: what SQLite reports.
  public func receivedAt(_ seq: Int64) throws(LedgerError) -> Int64? {
    try connection.statement("SELECT received_at_ms FROM event WHERE seq = ?").bind(1, seq)
      .first { $0.int(0) }
  }
}
