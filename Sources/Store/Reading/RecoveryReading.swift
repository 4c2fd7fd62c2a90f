public import AppStore
public import Platform

/// Reads what a recovery needs to know of the journal. No read transaction stays open for long.
extension JournalReader {
  /// Events that came from Apple's history.
  public struct Recovered: Sendable {
    public struct Kind: Sendable, Hashable {
      public let notificationType: String
      public let subtype: String?

      public init(notificationType: String, subtype: String?) {
        (self.notificationType, self.subtype) = (notificationType, subtype)
      }
    }

    public var counts: [Kind: Int64]
    /// How many original transaction ids they are about.
    public var customers: Int64

    public init(counts: [Kind: Int64] = [:], customers: Int64 = 0) {
      (self.counts, self.customers) = (counts, customers)
    }
  }

  /// The seq of the event with this UUID, or nil if there is none.
  ///
  /// - Throws: what SQLite reports.
  public func seq(notificationUUID uuid: NotificationUUID) throws(LedgerError) -> Int64? {
    try connection.statement("SELECT seq FROM event WHERE notification_uuid = ?")
      .bind(1, uuid.bytes).first { $0.int(0) }
  }

  /// The events of an app after a seq that came from Apple's history.
  ///
  /// - Throws: what SQLite reports.
  public func recovered(
    after seq: Int64, environment: Environment, bundleId: String
  ) throws(LedgerError) -> Recovered {
    let rows = """
      FROM arrival r CROSS JOIN event e ON e.seq = r.seq JOIN stream s ON s.id = e.stream_id
        JOIN app a ON a.id = s.app_id JOIN kind k ON k.id = e.kind_id
      WHERE r.seq > ? AND r.how = 'history' AND a.environment = ? AND a.bundle_id = ?

      """
    let kinds = try connection.statement(
      "SELECT k.notification_type, k.subtype, count(*) " + rows + "GROUP BY 1, 2"
    ).bind(1, seq).bind(2, environment.rawValue).bind(3, bundleId).all {
      (
        Recovered.Kind(notificationType: $0.text(0), subtype: $0.optionalText(1)), $0.int(2)
      )
    }
    let customers = try connection.statement(
      "SELECT count(DISTINCT s.original_transaction_id) " + rows
    ).bind(1, seq).bind(2, environment.rawValue).bind(3, bundleId).first { $0.int(0) }
    return Recovered(
      counts: Dictionary(kinds, uniquingKeysWith: +), customers: customers ?? 0)
  }

  /// Calls `body` with the seqs of an app's V2 events that Apple signed in a range of time, TEST
  /// notifications left out.
  ///
  /// - Parameters:
  ///   - seqs: in which to look.
  ///   - signed: milliseconds since 1970 UTC, the end not included.
  /// - Throws: what SQLite reports.
  public func forEachSeq(
    of environment: Environment, _ bundleId: String, in seqs: ClosedRange<Int64>,
    signed: Range<Int64>, _ body: (Int64) -> Void
  ) throws(LedgerError) {
    var first = seqs.lowerBound
    while first <= seqs.upperBound {
      let last = min(seqs.upperBound, first + 50_000)
      try connection.statement(
        """
        SELECT e.seq FROM event e JOIN stream s ON s.id = e.stream_id
          JOIN app a ON a.id = s.app_id JOIN kind k ON k.id = e.kind_id
        WHERE e.seq BETWEEN ? AND ? AND e.source = 'v2' AND k.notification_type <> 'TEST'
          AND e.signed_date_ms >= ? AND e.signed_date_ms < ?
          AND a.environment = ? AND a.bundle_id = ? ORDER BY e.seq
        """
      ).bind(1, first).bind(2, last).bind(3, signed.lowerBound).bind(4, signed.upperBound)
        .bind(5, environment.rawValue).bind(6, bundleId).forEach { row in
          body(row.int(0))
          return true
        }
      first = last + 1
    }
  }
}

extension JournalReader {
  /// The longest time between two of the newest events, in milliseconds; 0 if there are not two.
  ///
  /// - Throws: what SQLite reports.
  public func longestPause(amongLast count: Int) throws(LedgerError) -> Int64 {
    try connection.statement(
      """
      SELECT max(pause) FROM (
        SELECT received_at_ms - lag(received_at_ms) OVER (ORDER BY seq) AS pause
        FROM (SELECT seq, received_at_ms FROM event ORDER BY seq DESC LIMIT ?))
      """
    ).bind(1, Int64(count)).first { $0.optionalInt(0) ?? 0 } ?? 0
  }
}
