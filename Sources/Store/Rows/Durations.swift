public import Platform

/// The configured durations of non-renewing products, as a projection has them: its present answers
/// and its views end by them.
enum Durations {
  /// Milliseconds by product id.
  static func read(_ connection: SQLiteConnection) throws(LedgerError) -> [String: Int64] {
    let all = try connection.statement("SELECT product_id, milliseconds FROM duration").all {
      ($0.text(0), $0.int(1))
    }
    return Dictionary(all, uniquingKeysWith: { $1 })
  }
}

extension Projection {
  /// Adopts configured durations. The answers of rows that they change become due.
  ///
  /// - Parameter durations: milliseconds by product id.
  /// - Throws: the error of `close`, or what SQLite reports. Nothing was changed then.
  public func adopt(_ durations: [String: Int64]) throws(LedgerError) {
    guard durations != self.durations else { return }
    let before = self.durations
    try atomically { (connection, _) throws(LedgerError) in
      try connection.execute("DELETE FROM duration")
      for (product, milliseconds) in durations {
        try connection.statement("INSERT INTO duration (product_id, milliseconds) VALUES (?, ?)")
          .bind(1, product).bind(2, milliseconds).run()
      }
      let changed = Set(durations.keys).union(before.keys).filter { durations[$0] != before[$0] }
      for product in changed {
        try connection.statement(
          """
          UPDATE entitlement SET answer_from_ms = ?2, answer_until_ms = ?2
          WHERE lasting_product_id = ?1
          """
        ).bind(1, product).bind(2, Int64.min).run()
      }
    }
    self.durations = durations
  }

  /// Evaluates the answers that the time has changed, at most `limit` of them, by the clock.
  ///
  /// - Returns: how many there were.
  /// - Throws: the error of `close`, `LedgerError.corrupt` when a row is damaged, otherwise what
  ///   SQLite reports. Nothing was changed then.
  public func evaluateDue(limit: Int) throws(LedgerError) -> Int {
    let now = clock()
    let connection = try connection()
    let due = try connection.statement(
      """
      SELECT \(RowLayout.columns) FROM entitlement e
      WHERE e.answer_until_ms <= ? ORDER BY e.answer_until_ms LIMIT ?
      """
    ).bind(1, now).bind(2, Int64(limit)).all { (row) throws(LedgerError) in
      try reading.stored(row)
    }
    guard !due.isEmpty else { return 0 }
    try atomically { (connection, _) throws(LedgerError) in
      evaluatedAt = max(evaluatedAt, now)
      for row in due {
        let answer = answer(of: row.projected.row, at: now)
        try connection.statement(
          """
          UPDATE entitlement
          SET (answer_status, answer_product_id, answer_from_ms, answer_until_ms) = (?, ?, ?, ?)
          WHERE id = ?
          """
        ).bind(1, answer?.status).bind(2, answer?.product).bind(3, answer?.from)
          .bind(4, answer?.until).bind(5, row.id).run()
      }
    }
    return due.count
  }

  /// When the next answer changes, milliseconds since 1970; nil: never.
  ///
  /// - Throws: the error of `close`, or what SQLite reports.
  public func nextDue() throws(LedgerError) -> Int64? {
    // The condition is that of the index, without which all rows would be read.
    try connection().statement(
      "SELECT min(answer_until_ms) FROM entitlement WHERE answer_until_ms IS NOT NULL"
    ).first { $0.optionalInt(0) } ?? nil
  }
}
