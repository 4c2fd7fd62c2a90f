import AppStore
import Platform

/// Reads an event from a row of SQL.
enum EventRow {
  /// The seq and the columns of an envelope: `event` e, `stream` s, `app` a, `kind` k.
  static let envelope = """
    e.seq, e.notification_uuid, e.source, a.environment, a.bundle_id, k.notification_type,
      k.subtype, s.original_transaction_id, e.signed_date_ms, e.received_at_ms
    """

  /// - Parameter row: of a SELECT that begins with the columns of `envelope`.
  static func envelope(_ row: Statement) -> EventEnvelope {
    EventEnvelope(
      notificationUUID: uuid(row.bytes(1)), source: EventSource(rawValue: row.text(2)),
      environment: Environment(rawValue: row.text(3)), bundleId: row.text(4),
      notificationType: row.text(5), subtype: row.optionalText(6),
      originalTransactionId: row.optionalText(7), signedDate: row.int(8), receivedAt: row.int(9))
  }

  /// Uses left joins, so that an event is read even if its stream or kind was removed by tampering.
  static let select = select(body: "e.body")

  /// - Parameter body: the stored body, as SQL about the event `e`.
  static func select(body: String) -> String {
    """
    SELECT \(envelope), e.body_sha256, e.hash, \(body), e.dictionary_id
    FROM event e LEFT JOIN stream s ON s.id = e.stream_id LEFT JOIN app a ON a.id = s.app_id
      LEFT JOIN kind k ON k.id = e.kind_id

    """
  }

  static func read(_ row: Statement, _ codec: BodyCodec) throws(LedgerError) -> RawEvent {
    let stored = row.bytes(12)
    // The fold reads from the name of a receipt which customer an event is about.
    let isOwn = ReceiptReference.isOf(row.optionalText(7), stored)
    let body = isOwn ? try codec.decode(stored, dictionary: row.optionalInt(13)) : nil
    return RawEvent(event: event(row, body: body ?? []), isBodyReadable: body != nil)
  }

  static func event(_ row: Statement, body: [UInt8]) -> StoredEvent {
    StoredEvent(
      seq: row.int(0), envelope: envelope(row), body: body, bodySHA256: row.bytes(10),
      hash: row.bytes(11))
  }

  /// All zeros for a damaged column of another length: the hash chain then does not match.
  static func uuid(_ bytes: [UInt8]) -> NotificationUUID {
    NotificationUUID(bytes: bytes) ?? NotificationUUID(high: 0, low: 0)
  }
}
