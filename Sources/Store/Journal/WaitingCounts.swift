public import AppStore
public import Platform

/// The deliveries of a notification after the one that was journaled. Times are milliseconds since
/// 1970 UTC by our clock.
public struct Redeliveries: Sendable, Equatable {
  public var count: Int64
  public var firstAt: Int64
  public var lastAt: Int64

  public init(count: Int64, firstAt: Int64, lastAt: Int64) {
    self.count = count
    self.firstAt = firstAt
    self.lastAt = lastAt
  }

  mutating func add(at time: Int64) {
    count += 1
    firstAt = min(firstAt, time)
    lastAt = max(lastAt, time)
  }
}

/// Counts that are not written yet. Duplicates are not journaled (promise 4) but counted, outside
/// the hash chain because a count says nothing about a customer; so is what the quarantine had no
/// place for.
///
/// Both are answered without a sync of their own. Their counts wait in memory for the next append
/// that is synced anyway, for `writeCounts` or for `close`. A crash loses the waiting counts.
struct WaitingCounts {
  /// The largest number of notifications with a waiting count. While nothing can be written,
  /// further notifications are not counted.
  static let limit = 10_000

  /// Redeliveries by seq.
  private var redeliveries: [Int64: Redeliveries] = [:]
  /// Notifications that were not stored in quarantine.
  private var overflow: Int64 = 0

  var count: Int { redeliveries.count + (overflow > 0 ? 1 : 0) }

  /// Counts the duplicates of a batch after it was written, and what was too much for quarantine.
  mutating func count(_ batch: [Submission], _ outcomes: [Outcome]) {
    for (submission, outcome) in zip(batch, outcomes) {
      switch (outcome, submission) {
      case (.quarantineFull, _): overflow += 1
      // Apple's history repeats what was delivered once.
      case (.duplicate(let seq), .event(let event))
      where event.arrival != .history
        && (redeliveries[seq] != nil || redeliveries.count < Self.limit):
        let time = event.receivedAt
        redeliveries[seq, default: Redeliveries(count: 0, firstAt: time, lastAt: time)]
          .add(at: time)
      default: break
      }
    }
  }

  func write(_ connection: SQLiteConnection) throws(LedgerError) {
    if overflow > 0 {
      try connection.statement(
        """
        UPDATE meta SET value = value + ?1
        WHERE key = 'foreign_overflow' AND value <= 9223372036854775807 - ?1
        """
      ).bind(1, overflow).run()
    }
    let seqs = Array(redeliveries.keys)
    try RunningDigest.redeliveries.remove(seqs, connection)
    for (seq, found) in redeliveries {
      try connection.statement(
        """
        INSERT INTO redelivery (seq, count, first_at_ms, last_at_ms) VALUES (?, ?, ?, ?)
        ON CONFLICT (seq) DO UPDATE SET
          -- A damaged count does not overflow: that would fail this SQL transaction for ever.
          count = max(1, min(count, 9223372036854775807 - excluded.count)) + excluded.count,
          first_at_ms = min(first_at_ms, excluded.first_at_ms),
          last_at_ms = max(last_at_ms, excluded.last_at_ms)
        """
      ).bind(1, seq).bind(2, found.count).bind(3, found.firstAt).bind(4, found.lastAt).run()
    }
    try RunningDigest.redeliveries.add(seqs, connection)
  }
}

extension Journal {
  /// The number of counts that are not written yet.
  public var waitingCounts: Int { waiting.count }

  /// Writes the waiting counts in an SQL transaction of their own.
  ///
  /// - Parameter ship: needed in a copy of a shared journal.
  /// - Throws: what SQLite reports, as `append` does. Counts that were not written continue to
  ///   wait.
  public func writeCounts(shipping ship: Shipper<Void>? = nil) throws(LedgerError) {
    guard waiting.count > 0 else { return }
    try write(shipping: ship) { (connection) throws(LedgerError) in try waiting.write(connection) }
    waiting = WaitingCounts()
  }

  /// Forgets the waiting counts, because they were written after all.
  public func discardWaitingCounts() { waiting = WaitingCounts() }

  /// Whether a batch with these outcomes wrote events or quarantine, so that it was synced.
  static func isWriting(_ outcomes: [Outcome]) -> Bool {
    outcomes.contains { outcome in
      switch outcome {
      case .accepted, .quarantined(_, isNew: true), .held(isNew: true): true
      default: false
      }
    }
  }
}

extension JournalReader {
  /// The redeliveries of a stream's events, by seq. Counts that the writer has not written yet are
  /// missing.
  ///
  /// - Throws: what SQLite reports.
  public func redeliveries(of key: StreamKey) throws(LedgerError) -> [Int64: Redeliveries] {
    guard try hasHistory() else { return [:] }
    let found = try connection.statement(
      """
      SELECT r.seq, r.count, r.first_at_ms, r.last_at_ms
      FROM event e INDEXED BY event_stream CROSS JOIN redelivery r ON r.seq = e.seq
      WHERE e.stream_id = \(Self.streamId)
      """
    ).bind(1, key.originalTransactionId).bind(2, key.environment.rawValue).bind(3, key.bundleId)
      .all { row in
        (
          row.int(0), Redeliveries(count: row.int(1), firstAt: row.int(2), lastAt: row.int(3))
        )
      }
    return Dictionary(found, uniquingKeysWith: { $1 })
  }
}
