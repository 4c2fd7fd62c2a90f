public import AppStore
public import Platform

/// Which notifications of the quarantine: nil stands for all.
public struct QuarantineFilter: Sendable {
  public var reason: String?
  /// Of one app.
  public var bundleId: String?
  /// Those that name this environment.
  var environment: Environment?

  public init(
    reason: String? = nil, bundleId: String? = nil, environment: Environment? = nil
  ) {
    (self.reason, self.bundleId, self.environment) = (reason, bundleId, environment)
  }

  fileprivate static let condition =
    "(?3 IS NULL OR reason = ?3) AND (?4 IS NULL OR bundle_id = ?4) "
    + "AND (?5 IS NULL OR environment = ?5)"

  /// Binds the parameters of `condition`.
  fileprivate func bind(_ statement: Statement) -> Statement {
    statement.bind(3, reason).bind(4, bundleId).bind(5, environment?.rawValue)
  }
}

/// Reads notifications in quarantine.
extension JournalReader {
  /// Up to `limit` notifications with a greater id, in order of id.
  ///
  /// - Throws: `LedgerError.corrupt` when the file returns rows out of order, otherwise what SQLite
  ///   reports.
  public func quarantined(
    after id: Int64 = 0, limit: Int, _ filter: QuarantineFilter = QuarantineFilter()
  ) throws(LedgerError) -> [StoredQuarantine] {
    let statement = try connection.statement(
      Self.quarantineSelect + "WHERE id > ?1 AND \(QuarantineFilter.condition) ORDER BY id LIMIT ?2"
    ).bind(1, id).bind(2, Int64(limit))
    return try filter.bind(statement).all(quarantineRow).ascending(after: id) { $0.id }
  }

  /// The ids of up to `limit` notifications, as `quarantined(after:limit:_:)`.
  ///
  /// - Throws: as that function.
  public func quarantinedIds(
    after id: Int64, limit: Int, _ filter: QuarantineFilter
  ) throws(LedgerError) -> [Int64] {
    let statement = try connection.statement(
      """
      SELECT id FROM quarantine WHERE id > ?1 AND \(QuarantineFilter.condition) ORDER BY id LIMIT ?2
      """
    ).bind(1, id).bind(2, Int64(limit))
    return try filter.bind(statement).all { $0.int(0) }.ascending(after: id) { $0 }
  }

  /// The notification with this id, or nil if there is none.
  ///
  /// - Throws: what SQLite reports.
  public func quarantined(id: Int64) throws(LedgerError) -> StoredQuarantine? {
    try connection.statement(Self.quarantineSelect + "WHERE id = ?").bind(1, id)
      .first(quarantineRow)
  }

  /// Up to `limit` notifications with an original transaction id, those of our own apps first.
  ///
  /// - Parameters:
  ///   - environment: leaves out notifications that name the other environment; nil for all.
  ///   - bodies: whether to read the bodies; otherwise they are empty.
  /// - Throws: what SQLite reports.
  public func quarantined(
    about id: String, environment: Environment?, bodies: Bool, limit: Int
  ) throws(LedgerError) -> [StoredQuarantine] {
    guard try hasHistory() else { return [] }
    return try connection.statement(
      """
      SELECT id, reason, is_foreign, source, notification_uuid, environment, bundle_id,
        notification_type, signed_date_ms, received_at_ms, body_sha256,
        CASE WHEN ?3 THEN body END, dictionary_id
      FROM quarantine WHERE original_transaction_id = ?1
        AND (?2 IS NULL OR environment IS ?2
          OR coalesce(environment, '') NOT IN ('Production', 'Sandbox'))
      ORDER BY is_foreign, id LIMIT ?4
      """
    ).bind(1, id).bind(2, environment?.rawValue).bind(3, bodies ? 1 : 0).bind(4, Int64(limit))
      .all(quarantineRow)
  }

  /// Up to `limit` notifications with this id or a smaller one, in descending order of id.
  ///
  /// - Parameter bodies: whether to read the bodies; otherwise they are empty.
  /// - Throws: what SQLite reports.
  public func quarantined(
    through id: Int64, limit: Int, _ filter: QuarantineFilter = QuarantineFilter(),
    bodies: Bool = true
  ) throws(LedgerError) -> [StoredQuarantine] {
    let statement = try connection.statement(
      """
      SELECT id, reason, is_foreign, source, notification_uuid, environment, bundle_id,
        notification_type, signed_date_ms, received_at_ms, body_sha256,
        CASE WHEN ?6 THEN body END, dictionary_id
      FROM quarantine WHERE id <= ?1 AND \(QuarantineFilter.condition) ORDER BY id DESC LIMIT ?2
      """
    ).bind(1, id).bind(2, Int64(limit)).bind(6, bodies ? 1 : 0)
    return try filter.bind(statement).all(quarantineRow)
  }

  /// The first version 2 notifications that were kept because they are not admitted, received after
  /// a time, through another, in order of time. Reads the table through, which is bounded.
  ///
  /// - Throws: what SQLite reports.
  public func quarantineArrivals(
    after time: Int64, through last: Int64, limit: Int
  ) throws(LedgerError) -> [(receivedAt: Int64, id: Int64)] {
    try connection.statement(
      """
      SELECT received_at_ms, id FROM quarantine
      WHERE received_at_ms > ? AND received_at_ms <= ? AND source = 'v2' AND reason <> 'conflict'
      ORDER BY received_at_ms, id LIMIT ?
      """
    ).bind(1, time).bind(2, last).bind(3, Int64(limit)).all { ($0.int(0), $0.int(1)) }
  }

  private static let quarantineSelect = """
    SELECT id, reason, is_foreign, source, notification_uuid, environment, bundle_id,
      notification_type, signed_date_ms, received_at_ms, body_sha256, body, dictionary_id
    FROM quarantine

    """

  private func quarantineRow(_ row: Statement) throws(LedgerError) -> StoredQuarantine {
    // A body that cannot be recovered is left empty: the rest is still shown, and the hash reveals
    // the damage.
    let body = try body(row.bytes(11), row.optionalInt(12)) ?? []
    return StoredQuarantine(
      id: row.int(0), reason: row.text(1), isForeign: row.int(2) == 1,
      source: EventSource(rawValue: row.text(3)),
      notificationUUID: row.optionalText(4),
      environment: row.optionalText(5).map(Environment.init(rawValue:)),
      bundleId: row.optionalText(6), notificationType: row.optionalText(7),
      signedDate: row.optionalInt(8), receivedAt: row.int(9), body: body,
      bodySHA256: row.bytes(10))
  }
}
