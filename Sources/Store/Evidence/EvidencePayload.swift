import AppStore
import Platform

extension BodyCodec {
  /// What the fold reads of an event.
  ///
  /// - Parameters:
  ///   - row: begins with seq, source, UUID, dictionary and body.
  ///   - originalTransactionId: that of the event's stream.
  /// - Throws: what SQLite reports when a dictionary is read.
  func payload(
    _ row: Statement, of originalTransactionId: String?
  ) throws(LedgerError) -> JournaledPayload {
    let source = EventSource(rawValue: row.text(1))
    let (content, parts) = try payload(
      row.bytes(4), dictionary: row.optionalInt(3), source: source, of: originalTransactionId)
    return JournaledPayload(
      seq: row.int(0), source: source, uuid: NotificationUUID(bytes: row.bytes(2)),
      content: content, parts: parts)
  }
}
