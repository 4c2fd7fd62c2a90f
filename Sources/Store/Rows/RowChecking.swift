public import AppStore
import Entitlements
public import Platform

/// Checks one row with everything that leads to it.
extension ProjectionReader {
  /// Reads what no check of a row reads unless a row needs it: how far it is folded, and the first
  /// page of the predecessors.
  ///
  /// - Throws: `LedgerError.corrupt` when it is damaged, otherwise what SQLite reports.
  public func checkTables() throws(LedgerError) {
    _ = try foldedThrough()
    _ = try connection.statement(
      "SELECT 1 FROM predecessor WHERE original_transaction_id = ''"
    ).first { _ in true }
  }

  /// Whether a stream has a row. If it has, the row has its checksum, its state can be read, its
  /// present answer is that of its spans, and all indexes have it.
  ///
  /// - Throws: `LedgerError.corrupt` when it is damaged, otherwise what SQLite reports.
  public func isIndexed(_ key: StreamKey) throws(LedgerError) -> Bool {
    guard let (stored, stream) = try stored(key) else { return false }
    // Reads ask memory whether a row was succeeded, so that nothing else may read this page.
    _ = try isPredecessor(key.originalTransactionId)
    let id = stored.id
    if let answer = stored.answer {
      try check(answer, of: stored, stream)
      try checkIndexes(of: answer, stored)
    }
    try checkTurns(of: stored)
    for (index, values) in stream.ids.enumerated() {
      for value in values {
        let isFound = try connection.statement(
          "SELECT 1 FROM token WHERE kind = ? AND value = ? AND entitlement_id = ?"
        ).bind(1, Int64(index + 1)).bind(2, value).bind(3, id).first { _ in true }
        guard isFound == true else { throw .corrupt("an id of a row is missing") }
      }
    }
    try check(stream.predecessors, of: stored)
    return true
  }

  private func check(
    _ answer: RowReading.Answer, of stored: RowReading.Stored, _ stream: FoldedStream
  ) throws(LedgerError) {
    // After a change of durations answers are evaluated bit by bit.
    guard try !DurationTable.isChanging(connection) else { return }
    let durations = try DurationTable.read(connection)[stored.app] ?? [:]
    guard let current = stream.row.current(at: answer.from, durations: durations),
      current.status.rawValue == answer.status, current.until == answer.until,
      ByteSearch.areEqual(stream.row.spans[current.span].productId, answer.product)
    else { throw .corrupt("the present answer of a row") }
  }

  /// What the view says of the streams that it replaced.
  private func check(
    _ predecessors: [Predecessor], of stored: RowReading.Stored
  ) throws(LedgerError) {
    for predecessor in predecessors {
      let isFound = try connection.statement(
        """
        SELECT 1 FROM predecessor WHERE original_transaction_id = ? AND app_id = ?
        AND successor = ? AND named_at_ms = ? AND transaction_id = ?
        """
      ).bind(1, predecessor.originalTransactionId).bind(2, stored.app)
        .bind(3, stored.projected.key.originalTransactionId).bind(4, predecessor.namedAt)
        .bind(5, predecessor.transactionId).first { _ in true }
      guard isFound == true else { throw .corrupt("a predecessor of a row is missing") }
    }
  }

  /// The index by which it is found what time alone changes.
  private func checkTurns(of stored: RowReading.Stored) throws(LedgerError) {
    let row = stored.projected.row
    for span in row.spans.indices where row.isTurn(span) {
      let isFound = try connection.statement(
        """
        SELECT 1 FROM entitlement_span INDEXED BY entitlement_span_turn
        WHERE is_turn AND from_ms = ? AND entitlement_id = ?
        """
      ).bind(1, row.spans[span].from).bind(2, stored.id).first { _ in true }
      guard isFound == true else { throw .corrupt("an index lacks a span") }
    }
  }

  private func checkIndexes(
    of answer: RowReading.Answer, _ row: RowReading.Stored
  ) throws(LedgerError) {
    let byAnswer = try connection.statement(
      """
      SELECT 1 FROM entitlement INDEXED BY entitlement_answer WHERE app_id = ?
      AND answer_product_id IS ? AND answer_status = ? AND original_transaction_id = ? AND id = ?
      """
    ).bind(1, row.app).bind(2, answer.product).bind(3, answer.status)
      .bind(4, row.projected.key.originalTransactionId).bind(5, row.id).first { _ in true }
    let byTime = try answer.until.map { (until) throws(LedgerError) in
      try connection.statement(
        """
        SELECT 1 FROM entitlement INDEXED BY entitlement_until
        WHERE answer_until_ms = ? AND id = ?
        """
      ).bind(1, until).bind(2, row.id).first { _ in true } ?? false
    }
    guard byAnswer == true, byTime ?? true else { throw .corrupt("an index lacks a row") }
  }

  private func stored(
    _ key: StreamKey
  ) throws(LedgerError) -> (RowReading.Stored, FoldedStream)? {
    guard let app = try reading.values.id(of: AppKey(key), adding: false) else { return nil }
    return try connection.statement(
      Self.select + "WHERE e.original_transaction_id = ? AND e.app_id = ?"
    ).bind(1, key.originalTransactionId).bind(2, app).first { (row) throws(LedgerError) in
      let stored = try reading.stored(row, withState: true)
      return (stored, try unpacked(stored))
    }
  }
}
