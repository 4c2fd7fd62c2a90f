public import AppStore
public import Platform

/// What a mirror has of an event: its keys and times, without its body.
public struct EventKeys: Sendable {
  public let seq: Int64
  public let uuid: NotificationUUID
  public let source: EventSource
  public let environment: Environment?
  public let bundleId: String?
  public let notificationType: String
  public let subtype: String?
  public let originalTransactionId: String?
  /// Milliseconds since 1970, as `receivedAt` is.
  public let signedDate: Int64
  public let receivedAt: Int64

  /// The customer; nil without a transaction.
  public var stream: StreamKey? {
    guard let environment, let bundleId, let originalTransactionId else { return nil }
    return StreamKey(
      environment: environment, bundleId: bundleId, originalTransactionId: originalTransactionId)
  }
}

extension JournalReader {
  /// The keys of events after a seq, through another one, in order.
  ///
  /// - Throws: `LedgerError.corrupt` for a uuid that is none, otherwise what SQLite reports.
  public func eventKeys(
    after seq: Int64, through last: Int64, limit: Int
  ) throws(LedgerError) -> [EventKeys] {
    try connection.statement(
      """
      SELECT e.seq, e.notification_uuid, e.source, a.environment, a.bundle_id,
        k.notification_type, k.subtype, s.original_transaction_id, e.signed_date_ms,
        e.received_at_ms
      FROM event e JOIN kind k ON k.id = e.kind_id LEFT JOIN stream s ON s.id = e.stream_id
        LEFT JOIN app a ON a.id = s.app_id
      WHERE e.seq > ? AND e.seq <= ? ORDER BY e.seq LIMIT ?
      """
    ).bind(1, seq).bind(2, last).bind(3, Int64(limit)).all { (row) throws(LedgerError) in
      guard let uuid = NotificationUUID(bytes: row.bytes(1)) else {
        throw .corrupt("the uuid of an event")
      }
      return EventKeys(
        seq: row.int(0), uuid: uuid, source: EventSource(rawValue: row.text(2)),
        environment: row.optionalText(3).map { Environment(rawValue: $0) },
        bundleId: row.optionalText(4), notificationType: row.text(5), subtype: row.optionalText(6),
        originalTransactionId: row.optionalText(7), signedDate: row.int(8), receivedAt: row.int(9))
    }
  }

  /// Whether an account is known, and was not erased.
  ///
  /// - Throws: what SQLite reports.
  public func hasAccount(_ name: String) throws(LedgerError) -> Bool {
    try connection.statement("SELECT 1 FROM account WHERE kind = 'account' AND name = ?")
      .bind(1, name).first { _ in true } ?? false
  }
}
