public import Platform

extension SinkStore {
  /// What changed of one sink.
  public struct Change: Sendable {
    var sink: SinkRecord
    public var held: [HeldRecord] = []
    /// Ordinals that are no longer held.
    public var released: [Int64] = []
    public var dead: [HeldRecord] = []
    /// Ordinals that are no longer dead.
    public var redriven: [Int64] = []

    public init(_ sink: SinkRecord) { self.sink = sink }
  }

  /// Writes what changed of several sinks, and removes others, in one SQL transaction.
  ///
  /// - Throws: what SQLite or the file system reports; nothing is written then.
  public func commit(
    _ changes: [Change], removing removed: [SinkRecord.ID] = []
  ) throws(LedgerError) {
    // Before the sink itself: a name without a place is lost, a place without a name is not.
    for change in changes where change.sink.id.replay == 0 {
      try SinkFile.add(change.sink.id.name, folder)
    }
    try connection.atomically { () throws(LedgerError) in
      for change in changes { try write(change) }
      for id in removed { try remove(id) }
    }
    try connection.checkpointIfNeeded()
  }

  /// Replaces the places of sinks, in one transaction: they hold nothing then. What they gave up
  /// stays.
  ///
  /// - Throws: what SQLite or the file system reports.
  public func replace(_ records: [SinkRecord]) throws(LedgerError) {
    for record in records { try SinkFile.add(record.id.name, folder) }
    try connection.atomically { () throws(LedgerError) in
      for record in records {
        try connection.statement("DELETE FROM held WHERE name = ? AND replay = 0")
          .bind(1, record.id.name).run()
        try write(Change(record))
      }
    }
  }

  private func write(_ change: Change) throws(LedgerError) {
    let sink = change.sink
    try connection.statement(
      """
      INSERT OR REPLACE INTO sink
        (name, replay, seq, hash, clock_ms, state, since_ms, reason, last, only, told_ms)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """
    ).bind(1, sink.id.name).bind(2, sink.id.replay).bind(3, sink.seq).bind(4, sink.hash)
      .bind(5, sink.clock).bind(6, sink.state).bind(7, sink.since).bind(8, sink.reason)
      .bind(9, sink.last).bind(10, sink.only).bind(11, sink.customerClock).run()
    for ordinal in change.released { try delete(ordinal, from: "held", sink.id) }
    for ordinal in change.redriven { try delete(ordinal, from: "dead", sink.id) }
    for held in change.held { try insert(held, into: "held", sink.id) }
    for dead in change.dead { try insert(dead, into: "dead", sink.id) }
  }

  /// - Parameter table: `held` or `dead`.
  private func insert(
    _ record: HeldRecord, into table: String, _ id: SinkRecord.ID
  ) throws(LedgerError) {
    try connection.statement(
      "INSERT OR REPLACE INTO \(table) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
    ).bind(1, id.name).bind(2, id.replay).bind(3, record.ordinal).bind(4, record.seq)
      .bind(5, record.turn).bind(6, record.stream).bind(7, record.receivedAt)
      .bind(8, Int64(record.attempts)).bind(9, Int64(record.refusals)).bind(10, record.nextAt)
      .bind(11, record.firstAt).bind(12, record.status.map { Int64($0) })
      .bind(13, record.failure).bind(14, record.kind).run()
  }

  private func delete(
    _ ordinal: Int64, from table: String, _ id: SinkRecord.ID
  ) throws(LedgerError) {
    try connection.statement("DELETE FROM \(table) WHERE name = ? AND replay = ? AND ordinal = ?")
      .bind(1, id.name).bind(2, id.replay).bind(3, ordinal).run()
  }

  private func remove(_ id: SinkRecord.ID) throws(LedgerError) {
    for table in ["sink", "held", "dead"] {
      try connection.statement("DELETE FROM \(table) WHERE name = ? AND replay = ?")
        .bind(1, id.name).bind(2, id.replay).run()
    }
  }
}
