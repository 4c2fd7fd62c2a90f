public import Platform

/// Counts events by hour while they are read for something else.
struct HourCounter {
  private struct Key: Hashable {
    let hour, app, kind: Int64
    let source: String
    let arrival: String?
  }

  /// Hours through this one are counted as one.
  private let bound: Int64
  /// What `add` reads, of an event `e` and its stream `s`.
  let columns: String
  private var counts: [Key: (count: Int64, lastSeq: Int64)] = [:]

  /// - Parameter seq: the last event that is counted.
  init(_ journal: JournalReader, through seq: Int64) throws(LedgerError) {
    // Not what an impossible time in a damaged journal would overflow.
    let last = max(0, try journal.receivedAt(of: seq) ?? 0)
    bound = last / JournalReader.hour * JournalReader.hour - HourCount.kept
    let arrival = try journal.hasArrivals() ? "(SELECT how FROM arrival WHERE seq = e.seq)" : "NULL"
    columns = "e.seq, e.source, s.app_id, e.kind_id, e.received_at_ms, \(arrival)"
  }

  /// - Parameter first: where the row has the first of `columns`.
  mutating func add(_ row: Statement, at first: Int32) {
    let hour = row.int(first + 4) / JournalReader.hour * JournalReader.hour
    let key = Key(
      hour: hour > bound ? hour : 0, app: row.int(first + 2), kind: row.int(first + 3),
      source: row.text(first + 1), arrival: row.optionalText(first + 5))
    let known = counts[key, default: (0, 0)]
    counts[key] = (known.count + 1, max(known.lastSeq, row.int(first)))
  }

  func found(_ connection: SQLiteConnection) throws(LedgerError) -> [HourCount] {
    var found: [HourCount] = []
    for (key, value) in counts {
      found += try connection.statement(
        """
        SELECT ?1, a.environment, a.bundle_id, k.notification_type, ?2, coalesce(?3, 'posted'),
          ?4, ?5
        FROM app a CROSS JOIN kind k WHERE a.id = ?6 AND k.id = ?7
        """
      ).bind(1, key.hour).bind(2, key.source).bind(3, key.arrival).bind(4, value.count)
        .bind(5, value.lastSeq).bind(6, key.app).bind(7, key.kind).all(HourCount.init)
    }
    return found
  }
}

extension JournalReader {
  /// One hour in milliseconds.
  public static let hour: Int64 = 3_600_000

  /// Counts the events in a range of seq, both ends included, by hour, for `Projection.add`.
  ///
  /// - Throws: what SQLite reports.
  public func hourCounts(
    from first: Int64, through last: Int64
  ) throws(LedgerError) -> [HourCount] {
    try connection.statement(try hasArrivals() ? Self.hoursWithArrivals : Self.hours)
      .bind(1, first).bind(2, last).all(HourCount.init)
  }

  private static let hours = hours("'posted'")
  private static let hoursWithArrivals = hours(
    "coalesce((SELECT how FROM arrival WHERE seq = e.seq), 'posted')")

  private static func hours(_ arrival: String) -> String {
    """
    SELECT e.received_at_ms / \(hour) * \(hour), a.environment, a.bundle_id, k.notification_type,
      e.source, \(arrival), count(*), max(e.seq)
    FROM event e CROSS JOIN stream s ON s.id = e.stream_id CROSS JOIN app a ON a.id = s.app_id
      CROSS JOIN kind k ON k.id = e.kind_id
    WHERE e.seq BETWEEN ? AND ? GROUP BY 1, 2, 3, 4, 5, 6
    """
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
