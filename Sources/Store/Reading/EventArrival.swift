public import AppStore
public import Platform

/// How an event came to the journal. Kept beside it, outside the hash chain, because it says
/// nothing about a customer. Of an event that arrives in several ways, the first counts
/// (promise 4).
public enum EventArrival: String, Sendable, CaseIterable {
  /// Apple sent it, or a file of bodies as Apple sent them was ingested.
  case posted
  /// Apple's notification history had it.
  case history
  /// It came with the first fill from ids.
  case `import`
  /// Apple answered with it.
  case asked
  /// The app sent it.
  case submitted

  /// Writes how the event at `seq` arrived, in the SQL transaction that journals it. Posted events
  /// have no row, because almost all are.
  func write(_ seq: Int64, _ connection: SQLiteConnection) throws(LedgerError) {
    guard self != .posted else { return }
    try connection.statement("INSERT INTO arrival (seq, how) VALUES (?, ?)")
      .bind(1, seq).bind(2, rawValue).run()
  }
}

extension JournalReader {
  /// How the events of a stream arrived, by seq; those that are missing were posted.
  ///
  /// - Throws: what SQLite reports.
  public func arrivals(of key: StreamKey) throws(LedgerError) -> [Int64: EventArrival] {
    guard try hasArrivals() else { return [:] }
    return try Self.bySeq(
      connection.statement(
        """
        SELECT a.seq, a.how
        FROM event e INDEXED BY event_stream CROSS JOIN arrival a ON a.seq = e.seq
        WHERE e.stream_id = \(Self.streamId)
        """
      ).bind(1, key.originalTransactionId).bind(2, key.environment.rawValue).bind(3, key.bundleId))
  }

  /// How the events of a range arrived, by seq; those that are missing were posted.
  ///
  /// - Throws: what SQLite reports.
  public func arrivals(in range: ClosedRange<Int64>) throws(LedgerError) -> [Int64: EventArrival] {
    guard try hasArrivals() else { return [:] }
    return try Self.bySeq(
      connection.statement("SELECT seq, how FROM arrival WHERE seq BETWEEN ? AND ?")
        .bind(1, range.lowerBound).bind(2, range.upperBound))
  }

  /// A damaged word counts as posted; `rowFaults` finds it.
  private static func bySeq(_ statement: Statement) throws(LedgerError) -> [Int64: EventArrival] {
    let found = try statement.all { ($0.int(0), EventArrival(rawValue: $0.text(1)) ?? .posted) }
    return Dictionary(found, uniquingKeysWith: { $1 })
  }

  /// Rows with a word that no program of ours writes, as sentences for an operator.
  func arrivalFaults(limit: Int) throws(LedgerError) -> [String] {
    guard try hasArrivals() else { return [] }
    let words = EventArrival.allCases.filter { $0 != .posted }.map { "'\($0.rawValue)'" }
    return try connection.statement(
      "SELECT seq FROM arrival WHERE how NOT IN (\(words.joined(separator: ","))) LIMIT \(limit)"
    ).all { "how seq \($0.int(0)) arrived is not known" }
  }

  /// Whether the journal has the table of migration 4.
  func hasArrivals() throws(LedgerError) -> Bool {
    try hasMigration(4)
  }
}
