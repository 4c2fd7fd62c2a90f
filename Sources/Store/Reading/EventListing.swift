public import Platform

/// Lists events by a filter.
extension JournalReader {
  /// Up to `limit` events after a seq, and through another one, that match a filter, in order of
  /// seq. Those marked as broken or unproven are left out.
  ///
  /// - Parameter newestFirst: whether the greatest seq comes first.
  /// - Throws: `LedgerError.corrupt` when a body cannot be recovered, otherwise what SQLite
  ///   reports.
  public func events(
    matching filter: EventFilter, after seq: Int64, through last: Int64 = .max, limit: Int,
    newestFirst: Bool = false
  ) throws(LedgerError) -> [StoredEvent] {
    let terms = filter.terms
    let sql =
      EventRow.select
      + "WHERE e.seq > ? AND e.seq <= ? AND \(CopyFaults.isReadable) AND \(CopyFaults.isProven)"
      + terms.map { " AND " + $0.sql }.joined()
      + " ORDER BY e.seq \(newestFirst ? "DESC" : "ASC") LIMIT ?"
    let statement = try connection.statement(sql)
    // Receive times never decrease along seq, so a binary search finds the start of the range.
    let first = filter.received?.lowerBound
    var start = seq
    if let first { start = max(seq, try firstSeq(receivedFrom: first) - 1) }
    statement.bind(1, start).bind(2, last)
    var parameter: Int32 = 3
    for term in terms {
      for value in term.values {
        switch value {
        case .text(let text): statement.bind(parameter, text)
        case .number(let number): statement.bind(parameter, number)
        }
        parameter += 1
      }
    }
    return try statement.bind(parameter, Int64(limit)).all(readable)
  }

  /// The first seq received at `time` (milliseconds since 1970 UTC) or later, or one past the head
  /// if there is none.
  ///
  /// - Throws: what SQLite reports.
  public func firstSeq(receivedFrom time: Int64) throws(LedgerError) -> Int64 {
    var low: Int64 = 1
    var high = try head().seq + 1
    while low < high {
      let middle = low + (high - low) / 2
      let received = try connection.statement("SELECT received_at_ms FROM event WHERE seq = ?")
        .bind(1, middle).first { $0.int(0) }
      if let received, received < time { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
