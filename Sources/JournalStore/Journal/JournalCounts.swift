/// Counting instead of reading: what an overview of the journal is made of. Each call looks at a
/// bounded piece, so that whoever counts ten million events can stop between any two.
extension JournalReader {
  /// Events that arrived in one hour, of one app and type.
  public struct HourCount: Sendable {
    /// The beginning of the hour, milliseconds since 1970.
    public let hour: Int64
    public let environment: String
    public let bundleId: String
    public let notificationType: String
    public let count: Int64
    /// The place of the last of them.
    public let lastSeq: Int64
  }

  /// Milliseconds of an hour.
  public static let hour: Int64 = 3_600_000

  /// The events of a range of places, both ends included, by hour of arrival.
  public func hourCounts(
    from first: Int64, through last: Int64
  ) throws(StoreError) -> [HourCount] {
    try connection.statement(
      """
      SELECT e.received_at_ms / ?3 * ?3, a.environment, a.bundle_id, k.notification_type,
        count(*), max(e.seq)
      FROM event e JOIN stream s ON s.id = e.stream_id JOIN app a ON a.id = s.app_id
        JOIN kind k ON k.id = e.kind_id
      WHERE e.seq BETWEEN ?1 AND ?2 GROUP BY 1, a.id, k.notification_type
      """
    ).bind(1, first).bind(2, last).bind(3, Self.hour).all { row in
      HourCount(
        hour: row.int(0), environment: row.text(1), bundleId: row.text(2),
        notificationType: row.text(3), count: row.int(4), lastSeq: row.int(5))
    }
  }

  /// An app in one environment, as the journal numbers them.
  public struct JournaledApp: Sendable {
    public let id: Int64
    public let environment: String
    public let bundleId: String
  }

  /// Every app that an event was journaled of.
  public func apps() throws(StoreError) -> [JournaledApp] {
    try connection.statement("SELECT id, environment, bundle_id FROM app ORDER BY 3, 2").all {
      JournaledApp(id: $0.int(0), environment: $0.text(1), bundleId: $0.text(2))
    }
  }

  /// The place of each app's last event among so many streams past one, by the app's number, and
  /// where to go on; nil at the end. Reads indexes alone.
  public func lastSeqs(
    afterStream id: Int64, limit: Int
  ) throws(StoreError) -> (places: [Int64: Int64], next: Int64?) {
    let last = try lastStreamId()
    let end = id + Int64(limit)
    let found = try connection.statement(
      """
      SELECT s.app_id, max(e.seq) FROM stream s CROSS JOIN event e INDEXED BY event_stream
        ON e.stream_id = s.id
      WHERE s.id > ? AND s.id <= ? GROUP BY s.app_id
      """
    ).bind(1, id).bind(2, end).all { ($0.int(0), $0.int(1)) }
    return (Dictionary(found, uniquingKeysWith: max), end < last ? end : nil)
  }

  /// What is known of an event without its body.
  public struct Arrival: Sendable {
    public let seq: Int64
    public let notificationType: String
    public let subtype: String?
    /// Milliseconds since 1970, as `receivedAt`.
    public let signedDate: Int64
    public let receivedAt: Int64
  }

  public func arrival(at seq: Int64) throws(StoreError) -> Arrival? {
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

  /// What is in quarantine for one reason, of one app; nil is what it does not say itself.
  public struct QuarantineCount: Sendable {
    public let environment: String?
    public let bundleId: String?
    public let reason: String
    public let count: Int64
    public let lastReceivedAt: Int64
  }

  public func quarantineByReason() throws(StoreError) -> [QuarantineCount] {
    try connection.statement(
      """
      SELECT environment, bundle_id, reason, count(*), max(received_at_ms) FROM quarantine
      GROUP BY 1, 2, 3 ORDER BY 4 DESC, 3, 2, 1
      """
    ).all { row in
      QuarantineCount(
        environment: row.optionalText(0), bundleId: row.optionalText(1), reason: row.text(2),
        count: row.int(3), lastReceivedAt: row.int(4))
    }
  }

  /// What went to quarantine in one hour, of one app and type.
  public struct QuarantineHour: Sendable {
    public let hour: Int64
    public let environment: String?
    public let bundleId: String?
    public let notificationType: String?
    public let count: Int64
  }

  public func quarantineByHour(since time: Int64) throws(StoreError) -> [QuarantineHour] {
    try connection.statement(
      """
      SELECT received_at_ms / ?2 * ?2, environment, bundle_id, notification_type, count(*)
      FROM quarantine WHERE received_at_ms >= ?1 GROUP BY 1, 2, 3, 4
      """
    ).bind(1, time).bind(2, Self.hour).all { row in
      QuarantineHour(
        hour: row.int(0), environment: row.optionalText(1), bundleId: row.optionalText(2),
        notificationType: row.optionalText(3), count: row.int(4))
    }
  }
}

extension ProjectionReader {
  /// A row as its file numbers it, for who goes through all of them and wants no order.
  public struct NumberedRow: Sendable {
    public let id: Int64
    public let key: StreamKey
    public let state: [UInt8]
    public let isBroken: Bool
  }

  /// Up to `limit` rows past a number: as they lie in the file, which costs least.
  public func numberedRows(after id: Int64, limit: Int) throws(StoreError) -> [NumberedRow] {
    try connection.statement(
      """
      SELECT e.id, environment, bundle_id, original_transaction_id, state, broken IS NOT NULL
      FROM entitlement e JOIN app a ON a.id = e.app_id WHERE e.id > ? ORDER BY e.id LIMIT ?
      """
    ).bind(1, id).bind(2, Int64(limit)).all { row in
      NumberedRow(
        id: row.int(0),
        key: StreamKey(
          environment: row.text(1), bundleId: row.text(2), originalTransactionId: row.text(3)),
        state: row.bytes(4), isBroken: row.int(5) == 1)
    }.inOrder(after: id) { $0.id }
  }
}
