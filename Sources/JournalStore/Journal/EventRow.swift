/// An event as the file has it, whatever became of it there.
public struct RawEvent: Sendable {
  /// With an empty body where it cannot be recovered.
  public let event: StoredEvent
  public let isBodyReadable: Bool

  /// Whether body, hash and chain agree, `previous` being hash[seq-1] (promise 5); `hash` is kept
  /// from event to event.
  public func isIntact(after previous: [UInt8], _ hash: BodyHash = BodyHash()) -> Bool {
    isBodyIntact(hash) && isChained(after: previous)
  }

  /// Whether the body is there and has the hash beside it; `hash` is kept from event to event.
  public func isBodyIntact(_ hash: BodyHash) -> Bool {
    isBodyReadable && hash.hash(event.body) == event.bodySHA256
  }

  /// Whether the hash follows from the row and from hash[seq-1].
  public func isChained(after previous: [UInt8]) -> Bool {
    event.hash
      == ChainHash.next(
        after: previous, seq: event.seq, receivedAt: event.receivedAt,
        notificationUUID: event.notificationUUID, source: event.source,
        bodySHA256: event.bodySHA256)
  }
}

/// The one way an event is read from SQL.
enum EventRow {
  /// Left joins: an event whose stream or kind was tampered away still shows.
  static let select = """
    SELECT e.seq, e.notification_uuid, e.source, a.environment, a.bundle_id, k.notification_type,
      k.subtype, s.original_transaction_id, e.signed_date_ms, e.received_at_ms, e.body_sha256,
      e.hash, e.body, e.dictionary_id
    FROM event e LEFT JOIN stream s ON s.id = e.stream_id LEFT JOIN app a ON a.id = s.app_id
      LEFT JOIN kind k ON k.id = e.kind_id

    """

  static func read(_ row: Statement, _ codec: BodyCodec) throws(StoreError) -> RawEvent {
    let body = try codec.decode(row.bytes(12), dictionary: row.optionalInt(13))
    return RawEvent(event: event(row, body: body ?? []), isBodyReadable: body != nil)
  }

  static func event(_ row: Statement, body: [UInt8]) -> StoredEvent {
    StoredEvent(
      seq: row.int(0), notificationUUID: NotificationUUID.text(row.bytes(1)), source: row.text(2),
      environment: row.text(3), bundleId: row.text(4), notificationType: row.text(5),
      subtype: row.optionalText(6), originalTransactionId: row.optionalText(7),
      signedDate: row.int(8), receivedAt: row.int(9), body: body, bodySHA256: row.bytes(10),
      hash: row.bytes(11))
  }
}
