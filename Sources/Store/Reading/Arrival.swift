public import Platform

extension JournalReader {
  /// What the journal says of an event without its body.
  public struct Arrival: Sendable {
    public let seq: Int64
    public let notificationType: String
    public let subtype: String?
    /// Apple's time, in milliseconds since 1970 UTC.
    public let signedDate: Int64
    /// Our time, in milliseconds since 1970 UTC.
    public let receivedAt: Int64
  }

  /// The event at `seq`, or nil if there is none.
  ///
  /// - Throws: what SQLite reports.
  public func arrival(at seq: Int64) throws(LedgerError) -> Arrival? {
    try connection.statement(
      """
      SELECT e.seq, k.notification_type, k.subtype, e.signed_date_ms, e.received_at_ms
      FROM event e JOIN kind k ON k.id = e.kind_id WHERE e.seq = ?
      """
    ).bind(1, seq).first { row in
      Arrival(
        seq: row.int(0), notificationType: row.text(1), subtype: row.optionalText(2),
        signedDate: row.int(3), receivedAt: row.int(4))
    }
  }
}
