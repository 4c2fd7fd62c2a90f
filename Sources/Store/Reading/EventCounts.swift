public import AppStore
public import Platform

/// Counts events without reading their bodies, for an overview of the journal. Each call counts a
/// range of seq, so that the caller can stop while it counts ten million events.
extension JournalReader {
  /// The number of events of one app, type and source that were received in one hour.
  public struct HourCount: Sendable {
    /// The beginning of the hour, in milliseconds since 1970 UTC.
    public let hour: Int64
    public let environment: Environment
    public let bundleId: String
    public let notificationType: String
    public let source: EventSource
    public let count: Int64
    /// The greatest seq among them.
    public let lastSeq: Int64
  }

  /// One hour in milliseconds.
  public static let hour: Int64 = 3_600_000

  /// Counts the events in a range of seq, both ends included, by the hour of their receive time.
  ///
  /// - Throws: what SQLite reports.
  public func hourCounts(
    from first: Int64, through last: Int64
  ) throws(LedgerError) -> [HourCount] {
    try connection.statement(
      """
      SELECT e.received_at_ms / ?3 * ?3, a.environment, a.bundle_id, k.notification_type,
        count(*), max(e.seq), e.source
      FROM event e JOIN stream s ON s.id = e.stream_id JOIN app a ON a.id = s.app_id
        JOIN kind k ON k.id = e.kind_id
      WHERE e.seq BETWEEN ?1 AND ?2 GROUP BY 1, a.id, k.notification_type, e.source
      """
    ).bind(1, first).bind(2, last).bind(3, Self.hour).all { row in
      HourCount(
        hour: row.int(0), environment: Environment(rawValue: row.text(1)), bundleId: row.text(2),
        notificationType: row.text(3), source: EventSource(rawValue: row.text(6)),
        count: row.int(4), lastSeq: row.int(5))
    }
  }

  /// The greatest seq in a range, both ends included, of an app's notifications: events that are
  /// neither evidence nor the owner's. Nil if there is none.
  ///
  /// - Parameter app: a `JournaledApp.id`.
  /// - Throws: what SQLite reports.
  public func lastNotification(
    of app: Int64, from first: Int64, through last: Int64
  ) throws(LedgerError) -> Int64? {
    try connection.statement(
      """
      SELECT e.seq FROM event e CROSS JOIN stream s ON s.id = e.stream_id
      WHERE e.seq BETWEEN ?1 AND ?2 AND s.app_id = ?3 AND e.source IN ('v2', 'v1')
      ORDER BY e.seq DESC LIMIT 1
      """
    ).bind(1, first).bind(2, last).bind(3, app).first { $0.int(0) }
  }

  /// The number of events, which differs from the head's seq if the journal was tampered with.
  ///
  /// - Throws: what SQLite reports.
  public func eventCount() throws(LedgerError) -> Int64 {
    try connection.statement("SELECT count(*) FROM event").first { $0.int(0) } ?? 0
  }

  /// Up to `limit` seqs greater than `seq`, ascending.
  ///
  /// - Throws: what SQLite reports.
  public func seqs(after seq: Int64, limit: Int) throws(LedgerError) -> [Int64] {
    try connection.statement("SELECT seq FROM event WHERE seq > ? ORDER BY seq LIMIT ?")
      .bind(1, seq).bind(2, Int64(limit)).all { $0.int(0) }
  }
}
