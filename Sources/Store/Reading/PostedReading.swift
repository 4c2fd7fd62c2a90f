public import AppStore
public import Platform

/// Reads when Apple posted notifications: events that came by themselves, and not because Apple was
/// asked, an app handed them over, or the owner said something.
extension JournalReader {
  /// Which notifications are looked for.
  public enum Posted: Sendable {
    /// All but those of the type TEST, which come when somebody asks for one.
    case notifications
    case tests
  }

  /// The receive times of an app's newest posted notifications, latest first, in milliseconds since
  /// 1970 UTC.
  ///
  /// - Throws: what SQLite reports.
  public func postedTimes(
    _ posted: Posted = .notifications, environment: Environment, bundleId: String, limit: Int
  ) throws(LedgerError) -> [Int64] {
    let app = try connection.statement(
      "SELECT id FROM app WHERE environment = ? AND bundle_id = ?"
    ).bind(1, environment.rawValue).bind(2, bundleId).first { $0.int(0) }
    guard let app else { return [] }
    // Reads backwards from the head: an active app has its newest events there.
    return try connection.statement(
      """
      SELECT e.received_at_ms FROM event e CROSS JOIN stream s ON s.id = e.stream_id
        JOIN kind k ON k.id = e.kind_id
      WHERE s.app_id = ? AND (k.notification_type = 'TEST') = ? AND \(try isPosted())
      ORDER BY e.seq DESC LIMIT ?
      """
    ).bind(1, app).bind(2, posted == .tests ? 1 : 0).bind(3, Int64(limit)).all { $0.int(0) }
  }

  /// The posted notifications of one app and type that were received within one hour.
  public struct PostedHour: Sendable {
    public let environment: Environment
    public let bundleId: String
    public let notificationType: String
    /// The receive times of the first and the last, in milliseconds since 1970 UTC.
    public let times: ClosedRange<Int64>
  }

  /// The posted notifications in a range of seq, both ends included, by hour, in the order of their
  /// first receive time; TEST left out.
  ///
  /// - Throws: what SQLite reports.
  public func postedHours(
    from first: Int64, through last: Int64
  ) throws(LedgerError) -> [PostedHour] {
    try connection.statement(
      """
      SELECT a.environment, a.bundle_id, k.notification_type, min(e.received_at_ms),
        max(e.received_at_ms)
      FROM event e JOIN stream s ON s.id = e.stream_id JOIN app a ON a.id = s.app_id
        JOIN kind k ON k.id = e.kind_id
      WHERE e.seq BETWEEN ?1 AND ?2 AND k.notification_type <> 'TEST' AND \(try isPosted())
      GROUP BY e.received_at_ms / ?3, a.id, k.notification_type ORDER BY 4
      """
    ).bind(1, first).bind(2, last).bind(3, Self.hour).all { row in
      PostedHour(
        environment: Environment(rawValue: row.text(0)), bundleId: row.text(1),
        notificationType: row.text(2), times: row.int(3)...max(row.int(3), row.int(4)))
    }
  }

  /// When the import came that the journal knows a customer from, in milliseconds since 1970 UTC:
  /// the receive time of its first event. Nil if that event came in another way.
  ///
  /// - Throws: what SQLite reports.
  public func importedAt(_ key: StreamKey) throws(LedgerError) -> Int64? {
    guard try hasArrivals() else { return nil }
    return try connection.statement(
      """
      SELECT e.received_at_ms, (SELECT r.how FROM arrival r WHERE r.seq = e.seq) FROM event e
      WHERE e.stream_id = \(Self.streamId) ORDER BY e.seq LIMIT 1
      """
    ).bind(1, key.originalTransactionId).bind(2, key.environment.rawValue).bind(3, key.bundleId)
      .first { row in
        row.optionalText(1) == EventArrival.import.rawValue ? row.int(0) : nil
      } ?? nil
  }

  /// The condition on an event `e`.
  private func isPosted() throws(LedgerError) -> String {
    guard try hasArrivals() else { return "e.source IN ('v2', 'v1')" }
    return "e.source IN ('v2', 'v1') AND NOT EXISTS (SELECT 1 FROM arrival r WHERE r.seq = e.seq)"
  }
}
