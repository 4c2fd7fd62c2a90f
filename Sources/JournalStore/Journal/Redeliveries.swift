/// How often a notification came again once it was journaled. Times are milliseconds since 1970
/// UTC, by our clock.
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

/// Duplicates are refused (promise 4), and counted: beside the chain, since a count says nothing
/// about a customer.
///
/// A duplicate is answered without a sync of its own, so counts wait in memory for the next append
/// that is synced anyway, for `writeRedeliveries`, or for `close`. A crash loses those that wait.
extension Journal {
  /// Different notifications that counts wait for at most: past it, while nothing can be written,
  /// others are not counted.
  static let redeliveryLimit = 10_000

  /// Different notifications that have a count which is not written yet.
  public var waitingRedeliveries: Int { redeliveries.count }

  /// Writes the counts that wait, in an SQL transaction of their own.
  ///
  /// - Throws: as `append`; what was not written goes on waiting.
  public func writeRedeliveries() throws(StoreError) {
    guard !redeliveries.isEmpty else { return }
    try write { (connection) throws(StoreError) in try write(redeliveries, connection) }
    redeliveries.removeAll()
  }

  /// Notes the duplicates of a batch that was taken.
  func count(_ batch: [Submission], _ outcomes: [AppendOutcome]) {
    for (submission, outcome) in zip(batch, outcomes) {
      guard case .duplicate(let seq) = outcome, case .event(let event) = submission,
        redeliveries[seq] != nil || redeliveries.count < Self.redeliveryLimit
      else { continue }
      let time = event.receivedAt
      redeliveries[seq, default: Redeliveries(count: 0, firstAt: time, lastAt: time)].add(at: time)
    }
  }

  /// Whether a batch with these outcomes is synced for its own sake.
  static func isWriting(_ outcomes: [AppendOutcome]) -> Bool {
    outcomes.contains { outcome in
      switch outcome {
      case .journaled, .quarantined: true
      default: false
      }
    }
  }

  func write(
    _ redeliveries: [Int64: Redeliveries], _ connection: SQLiteConnection
  ) throws(StoreError) {
    for (seq, found) in redeliveries {
      try connection.statement(
        """
        INSERT INTO redelivery (seq, count, first_at_ms, last_at_ms) VALUES (?, ?, ?, ?)
        ON CONFLICT (seq) DO UPDATE SET count = count + excluded.count,
          first_at_ms = min(first_at_ms, excluded.first_at_ms),
          last_at_ms = max(last_at_ms, excluded.last_at_ms)
        """
      ).bind(1, seq).bind(2, found.count).bind(3, found.firstAt).bind(4, found.lastAt).run()
    }
  }
}
