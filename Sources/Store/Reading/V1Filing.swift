import AppStore
public import Platform
import StrictJSON

/// Under which stream a V1 event was filed.
///
/// Builds before fold 3 filed a body that names no stream at the top under that of its newest
/// transaction (`V1Notification.formerOriginalTransactionId`). Such an event stays there, and the
/// fold reads it as one of the stream that it is filed under. From the seq `v1_filed_from` in
/// `meta` on, every event of the journal is filed as this build does.
enum V1Filing {
  /// Whether an event is filed as only builds before fold 3 did.
  static func isFormer(_ body: [UInt8], under originalTransactionId: String?) -> Bool {
    guard let root = try? JSONDocument(parsing: body).root,
      let notification = try? V1Notification(root)
    else { return false }
    return !ByteSearch.areEqual(notification.originalTransactionId, originalTransactionId)
      && ByteSearch.areEqual(notification.formerOriginalTransactionId, originalTransactionId)
  }

  /// Notes, when a journal is opened, from which seq on this build appends. A former build may have
  /// appended since this one did: it counted the generation and knew nothing of the second number.
  static func start(_ connection: SQLiteConnection, head: Int64) throws(LedgerError) {
    let meta = Meta(connection: connection)
    if let known = try meta.int(.v1FiledGeneration), try meta.int(.generation) == known { return }
    try meta.set(.v1FiledFrom, head + 1)
  }

  /// Accepts an event that was appended with the stream that it had: by a former build at the same
  /// shared journal, as in an upgrade of one daemon after another, or to be put back.
  static func accept(
    _ seq: Int64, _ body: [UInt8], under originalTransactionId: String?,
    _ connection: SQLiteConnection
  ) throws(LedgerError) {
    guard isFormer(body, under: originalTransactionId) else { return }
    try Meta(connection: connection).set(.v1FiledFrom, seq + 1)
  }
}

extension JournalReader {
  /// The seq from which on each V1 event is filed as this build does; the greatest number if none
  /// has opened the journal for writing.
  ///
  /// - Throws: what SQLite reports.
  public func v1FiledFrom() throws(LedgerError) -> Int64 {
    try Meta(connection: connection).int(.v1FiledFrom) ?? .max
  }

  /// How many V1 events are filed under another stream than this build would file them under.
  ///
  /// Reads all events before `v1FiledFrom`, if any of a type that only V1 has is among them.
  ///
  /// - Throws: what SQLite reports.
  public func formerlyFiledCount() throws(LedgerError) -> Int {
    let end = min(try v1FiledFrom() - 1, try head().seq)
    let types = NotificationTypes.v1.subtracting(NotificationTypes.v2)
    let isV1 = try connection.statement("SELECT DISTINCT notification_type FROM kind")
      .all { types.contains($0.text(0)) }.contains(true)
    guard isV1 else { return 0 }
    var count = 0
    var first: Int64 = 1
    // No read transaction stays open between batches, so that the writer can shorten its -wal.
    while first <= end {
      count += try connection.statement(
        """
        SELECT e.body, e.dictionary_id, s.original_transaction_id FROM event e
        LEFT JOIN stream s ON s.id = e.stream_id
        WHERE e.source = 'v1' AND e.seq BETWEEN ? AND ?
        """
      ).bind(1, first).bind(2, min(end, first + 9_999)).all { (row) throws(LedgerError) in
        guard let body = try codec.decode(row.bytes(0), dictionary: row.optionalInt(1)) else {
          return false
        }
        return V1Filing.isFormer(body, under: row.optionalText(2))
      }.count { $0 }
      first += 10_000
    }
    return count
  }
}
