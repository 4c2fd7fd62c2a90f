public import AppStore
public import Platform

/// Counts notifications in quarantine.
extension JournalReader {
  /// The number of notifications in quarantine, and the number of those that were only counted
  /// because the quarantine had reached `Journal.quarantineLimit`.
  ///
  /// - Throws: what SQLite reports.
  public func quarantineCounts() throws(LedgerError) -> (stored: Int64, overflow: Int64) {
    let stored = try connection.statement("SELECT count(*) FROM quarantine").first { $0.int(0) }
    return (stored ?? 0, try Meta(connection: connection).int(.foreignOverflow) ?? 0)
  }

  /// The notifications of one app in quarantine for one reason. A property is nil if it could not
  /// be read from the notification.
  public struct QuarantineCount: Sendable {
    public let environment: Environment?
    public let bundleId: String?
    public let reason: String
    public let count: Int64
    /// The latest receive time, in milliseconds since 1970 UTC.
    public let lastReceivedAt: Int64
  }

  /// Counts the quarantine by app and reason, the largest count first.
  ///
  /// - Throws: what SQLite reports.
  public func quarantineByReason() throws(LedgerError) -> [QuarantineCount] {
    try connection.statement(
      """
      SELECT environment, bundle_id, reason, count(*), max(received_at_ms) FROM quarantine
      GROUP BY 1, 2, 3 ORDER BY 4 DESC, 3, 2, 1
      """
    ).all { row in
      QuarantineCount(
        environment: row.optionalText(0).map(Environment.init(rawValue:)),
        bundleId: row.optionalText(1), reason: row.text(2),
        count: row.int(3), lastReceivedAt: row.int(4))
    }
  }

  /// The number of notifications of one app and type that were quarantined in one hour.
  public struct QuarantineHour: Sendable {
    /// The beginning of the hour, in milliseconds since 1970 UTC.
    public let hour: Int64
    public let environment: Environment?
    public let bundleId: String?
    public let notificationType: String?
    public let count: Int64
  }

  /// Counts what was received since `time`, in milliseconds since 1970 UTC, by hour, app and type.
  ///
  /// - Throws: what SQLite reports.
  public func quarantineByHour(since time: Int64) throws(LedgerError) -> [QuarantineHour] {
    try connection.statement(
      """
      SELECT received_at_ms / ?2 * ?2, environment, bundle_id, notification_type, count(*)
      FROM quarantine WHERE received_at_ms >= ?1 GROUP BY 1, 2, 3, 4
      """
    ).bind(1, time).bind(2, Self.hour).all { row in
      QuarantineHour(
        hour: row.int(0), environment: row.optionalText(1).map(Environment.init(rawValue:)),
        bundleId: row.optionalText(2),
        notificationType: row.optionalText(3), count: row.int(4))
    }
  }
}
