import AppStore
import Entitlements
public import Platform

/// Writes rows and their spans. Within `commit`, or within another SQL transaction.
extension Projection {
  /// Writes a row. What its columns answer at present is evaluated by the clock.
  ///
  /// - Parameters:
  ///   - reference: the row to overwrite; nil if the stream has none yet.
  ///   - now: the current time, milliseconds since 1970.
  /// - Returns: the reference for the next write of this row.
  /// - Throws: `LedgerError.corrupt` when the row to overwrite is missing, otherwise what SQLite
  ///   reports.
  @discardableResult
  public func write(
    _ packed: PackedStream, over reference: RowReference?, at now: Int64
  ) throws(LedgerError) -> RowReference {
    let (connection, projected) = (try connection(), packed.projected)
    guard let app = try reading.values.id(of: AppKey(projected.key), adding: true) else {
      throw .corrupt("the app of a row is missing")
    }
    evaluatedAt = max(evaluatedAt, now)
    let answer = try answer(of: projected.row, app, at: now)
    let id = try writeRow(packed, app, answer, over: reference, connection)
    try writeSpans(of: id, packed, app, replacing: reference?.spans ?? [], connection)
    let hasSameIds = (reference?.ids ?? [[], [], []]).elementsEqual(packed.ids) {
      $0.elementsEqual($1, by: ByteSearch.areEqual)
    }
    if !hasSameIds {
      try writeIds(packed.ids, replacing: reference?.ids, of: id, connection)
    }
    try write(
      packed.predecessors, replacing: reference?.predecessors ?? [], of: projected.key, app,
      connection)
    if writtenIds != nil {
      writtenIds?.append(projected.key.originalTransactionId)
      for ids in packed.ids + (reference?.ids ?? []) { writtenIds?.append(contentsOf: ids) }
    }
    if let reference { digest.remove(reference.share) }
    digest.add(packed.share)
    return RowReference(
      id: id, ids: packed.ids, predecessors: packed.predecessors, share: packed.share,
      spans: packed.sums.spans)
  }

  /// What a row answers at a time, as columns; nil if it has no span.
  func answer(
    of row: EntitlementRow, _ app: Int64, at time: Int64
  ) throws(LedgerError) -> RowReading.Answer? {
    guard let current = row.current(at: time, durations: durations) else { return nil }
    return RowReading.Answer(
      status: StoredStatus.id(of: current.status, givesAccess: current.givesAccess),
      product: try reading.values.id(of: row.product(of: current.span), app: app),
      from: current.from, until: current.until)
  }

  private func writeRow(
    _ packed: PackedStream, _ app: Int64, _ answer: RowReading.Answer?,
    over reference: RowReference?, _ connection: SQLiteConnection
  ) throws(LedgerError) -> Int64 {
    func run(_ sql: String) throws(LedgerError) -> Bool {
      let (projected, statement) = (packed.projected, try connection.statement(sql))
      statement.bind(1, reference?.id).bind(2, app).bind(3, projected.key.originalTransactionId)
        .bind(4, answer?.status).bind(5, answer?.product).bind(6, projected.broken)
      var binder = ColumnBinder(statement: statement, index: 7)
      projected.row.visitColumns(projected.row.lastIds, &binder)
      try statement.bind(24, answer?.from).bind(25, answer?.until).bind(26, packed.checksum)
        .bind(27, projected.row.lastEvent?.seq).bind(28, packed.state)
        .bind(29, packed.sums.encodedSpans).run()
      return connection.changes == 1
    }
    guard let reference else {
      _ = try run(Self.insert)
      return connection.lastRowId
    }
    if try !run(Self.updateSame) {
      guard try run(Self.update) else { throw .corrupt("a row of \(path) is missing") }
    }
    return reference.id
  }

  private static let names = """
    id, app_id, original_transaction_id, answer_status, answer_product, broken, lasting_product_id,
    lasting_from_ms, event_count, last_uuid, last_type, last_subtype, last_signed_date_ms,
    auto_renew, renewal_product_id, grace_period_expires_at_ms, price_increase,
    commitment_auto_renew, revoked_at_ms, app_account_token, app_transaction_id, anomaly,
    renewed_product_id, answer_from_ms, answer_until_ms, checksum, last_seq, state, spans
    """.split { $0 == "," || $0.isWhitespace }

  private static let insert = """
    INSERT INTO entitlement (\(names.joined(separator: ", ")))
    VALUES (\(names.indices.map { "?\($0 + 1)" }.joined(separator: ", ")))
    """

  /// Names the key, so that a row of another stream is not overwritten in a damaged file.
  private static let update = """
    UPDATE entitlement SET \(sets(3...)) WHERE id = ?1 AND app_id = ?2
    AND original_transaction_id = ?3
    """

  /// Changes no row unless its columns that most indexes are of stay as they are, as they mostly
  /// do. SQLite rewrites the index of every column that is set, even to the same value.
  private static let updateSame = """
    UPDATE entitlement SET \(sets(7...)) WHERE id = ?1 AND app_id = ?2
    AND original_transaction_id = ?3 AND \(names[3..<7].enumerated()
      .map { "\($1) IS ?\($0 + 4)" }.joined(separator: " AND "))
    """

  private static func sets(_ range: PartialRangeFrom<Int>) -> String {
    names.indices[range].map { "\(names[$0]) = ?\($0 + 1)" }.joined(separator: ", ")
  }

  // MARK: Spans

  /// Writes the spans that differ from those of the row before.
  ///
  /// - Parameter before: in ascending order of time, as the new ones are.
  private func writeSpans(
    of id: Int64, _ packed: PackedStream, _ app: Int64, replacing before: [RowSums.Span],
    _ connection: SQLiteConnection
  ) throws(LedgerError) {
    let (row, spans) = (packed.projected.row, packed.sums.spans)
    let ids = row.lastIds
    var old = before[...]
    for (index, span) in spans.enumerated() {
      while let first = old.first, first.from < span.from {
        try delete(first, of: id, connection)
        old.removeFirst()
      }
      var isNew = true
      if let first = old.first, first.from == span.from {
        old.removeFirst()
        if first.sum == span.sum { continue }
        isNew = false
      }
      if isNew, try write(index, of: row, ids, id, app, Self.insertSpan, connection) { continue }
      // It was there. In a damaged file a span may stand where there was none: the checksum of the
      // row is new then.
      _ = try write(index, of: row, ids, id, app, Self.replaceSpan, connection)
    }
    for span in old { try delete(span, of: id, connection) }
  }

  private func delete(
    _ span: RowSums.Span, of id: Int64, _ connection: SQLiteConnection
  ) throws(LedgerError) {
    try connection.statement(
      "DELETE FROM entitlement_span WHERE entitlement_id = ? AND from_ms = ?"
    ).bind(1, id).bind(2, span.from).run()
  }

  /// Returns whether it was written: `insertSpan` writes none that is there.
  private func write(
    _ span: Int, of row: EntitlementRow, _ ids: EntitlementRow.LastIds, _ id: Int64, _ app: Int64,
    _ sql: String, _ connection: SQLiteConnection
  ) throws(LedgerError) -> Bool {
    let product = try reading.values.id(of: row.product(of: span), app: app)
    let offer = try row.spans[span].purchase.flatMap { row.purchases[$0].offer }
      .map { (offer) throws(LedgerError) in try reading.values.id(of: offer) }
    let statement = try connection.statement(sql)
    var binder = ColumnBinder(statement: statement, index: 2)
    row.visitSpan(span, ids, product: product, offer: offer, &binder)
    try statement.bind(1, id).run()
    return connection.changes == 1
  }

  /// Less work than `replaceSpan`, in which SQLite prepares for a conflict.
  private static let insertSpan = "INSERT OR IGNORE " + spanValues
  private static let replaceSpan = "REPLACE " + spanValues

  private static let spanValues = """
    INTO entitlement_span (entitlement_id, from_ms, status, product, expiry, expires_at_ms, gap,
      transaction_id, starts_at_ms, price_milliunits, currency, offer, app_account_token,
      app_transaction_id, commitment_period, commitment_periods, commitment_ends_at_ms, is_turn)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17,
      ?18)
    """

  // MARK: Ids that rows are found by

  private func writeIds(
    _ new: [[String]], replacing old: [[String]]?, of id: Int64, _ connection: SQLiteConnection
  ) throws(LedgerError) {
    for (index, list) in (old ?? []).enumerated() {
      for value in list where !new[index].contains(where: { ByteSearch.areEqual($0, value) }) {
        try connection.statement(
          "DELETE FROM token WHERE kind = ? AND value = ? AND entitlement_id = ?"
        ).bind(1, Int64(index + 1)).bind(2, id: value).bind(3, id).run()
      }
    }
    for (index, list) in new.enumerated() {
      for value in list {
        try connection.statement(
          "INSERT OR IGNORE INTO token (kind, value, entitlement_id) VALUES (?, ?, ?)"
        ).bind(1, Int64(index + 1)).bind(2, id: value).bind(3, id).run()
      }
    }
  }

  private func write(
    _ new: [Predecessor], replacing old: [Predecessor], of key: StreamKey, _ app: Int64,
    _ connection: SQLiteConnection
  ) throws(LedgerError) {
    for predecessor in old {
      try connection.statement(
        "DELETE FROM predecessor WHERE original_transaction_id = ? AND app_id = ? AND successor = ?"
      ).bind(1, predecessor.originalTransactionId).bind(2, app).bind(3, key.originalTransactionId)
        .run()
    }
    for predecessor in new {
      try connection.statement("REPLACE INTO predecessor VALUES (?, ?, ?, ?, ?)")
        .bind(1, predecessor.originalTransactionId).bind(2, app).bind(3, key.originalTransactionId)
        .bind(4, predecessor.namedAt).bind(5, predecessor.transactionId).run()
    }
  }
}
