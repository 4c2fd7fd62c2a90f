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
    let app = try appId(of: projected.key, connection)
    evaluatedAt = max(evaluatedAt, now)
    let answer = answer(of: projected, at: now)
    let id = try writeRow(packed, app, answer, over: reference, connection)
    try writeSpans(of: id, packed, app, replacing: reference?.spans ?? [], connection)
    try writeLines(of: id, packed, app, replacing: reference?.lines ?? [], connection)
    if !packed.requests.isEmpty || reference?.hasRequests == true {
      try RefundTable.write(packed.requests, of: id, app, connection)
    }
    let hasSameIds = (reference?.ids ?? [[], [], [], []]).elementsEqual(packed.ids) {
      $0.elementsEqual($1, by: ByteSearch.areEqual)
    }
    if !hasSameIds {
      try writeIds(packed.ids, replacing: reference?.ids, of: id, connection)
    }
    try write(
      packed.predecessors, replacing: reference?.predecessors ?? [], of: projected.key, app,
      connection)
    if let reference { digest.remove(reference.share) }
    digest.add(packed.share)
    return RowReference(
      id: id, ids: packed.ids, predecessors: packed.predecessors, share: packed.share,
      spans: packed.sums.spans, lines: packed.sums.lines,
      hasRequests: !packed.requests.isEmpty)
  }

  /// The id of an app. A new one gets its durations with it: views and checks of its first row end
  /// by them.
  private func appId(
    of key: StreamKey, _ connection: SQLiteConnection
  ) throws(LedgerError) -> Int64 {
    let known = reading.values.addedApps
    guard let app = try reading.values.id(of: AppKey(key), adding: true) else {
      throw .corrupt("the app of a row is missing")
    }
    if reading.values.addedApps != known, let durations {
      try DurationTable.write(durations[key], of: app, connection)
    }
    return app
  }

  /// What a row answers at a time, as columns; nil if it has no span.
  func answer(of projected: ProjectedRow, at time: Int64) -> RowReading.Answer? {
    let (row, durations) = (projected.row, durations?[projected.key] ?? [:])
    guard let current = row.current(at: time, durations: durations) else { return nil }
    return RowReading.Answer(
      status: current.status.rawValue, product: row.spans[current.span].productId,
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
        .bind(7, answer?.from).bind(8, answer?.until).bind(9, packed.checksum)
        .bind(10, projected.row.lastEvent?.seq).bind(11, packed.state)
      var binder = ColumnBinder(statement: statement, index: 12)
      projected.row.visitColumns(&binder)
      binder.add(Int64(packed.lines.count))
      binder.add(Int64(packed.requests.count))
      try statement.run()
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
    id, app_id, original_transaction_id, answer_status, answer_product_id, broken, answer_from_ms,
    answer_until_ms, checksum, last_seq, state, lasting_product_id, lasting_from_ms, event_count,
    last_uuid, last_type, last_subtype, last_signed_date_ms, auto_renew, renewal_product_id,
    renewed_product_id, grace_period_expires_at_ms, price_increase, commitment_auto_renew,
    revoked_at_ms, anomaly, span_count, \(RowLayout.terms), line_count,
    request_count
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
    UPDATE entitlement SET \(sets(6...)) WHERE id = ?1 AND app_id = ?2
    AND original_transaction_id = ?3 AND \(names[3..<6].enumerated()
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
      try reading.values.addProduct(of: index, of: row, app: app)
      func write(_ sql: String) throws(LedgerError) -> Bool {
        let statement = try connection.statement(sql)
        var binder = ColumnBinder(statement: statement, index: 3)
        row.visitSpan(index, &binder)
        try statement.bind(1, id).bind(2, span.sum).run()
        return connection.changes == 1
      }
      if isNew, try write(Self.insertSpan) { continue }
      // It was there. In a damaged file a span may stand where there was none.
      _ = try write(Self.replaceSpan)
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

  /// Less work than `replaceSpan`, in which SQLite prepares for a conflict.
  private static let insertSpan = "INSERT OR IGNORE " + spanValues
  private static let replaceSpan = "REPLACE " + spanValues

  private static let spanValues: String = {
    let names = ["entitlement_id"] + RowLayout.spanNames
    return """
      INTO entitlement_span (\(names.joined(separator: ", ")))
      VALUES (\(names.indices.map { "?\($0 + 1)" }.joined(separator: ", ")))
      """
  }()

  // MARK: Lines

  /// Writes the lines that differ from those of the row before.
  private func writeLines(
    of id: Int64, _ packed: PackedStream, _ app: Int64, replacing before: [LineSum],
    _ connection: SQLiteConnection
  ) throws(LedgerError) {
    var old: [ExactText: LineSum] = [:]
    for sum in before { old[ExactText(sum.transactionId)] = sum }
    for (line, sum) in zip(packed.lines, packed.sums.lines) {
      let known = old.removeValue(forKey: ExactText(sum.transactionId))
      if known == sum { continue }
      func write(_ sql: String) throws(LedgerError) -> Bool {
        let statement = try connection.statement(sql)
        statement.bind(1, id).bind(2, app).bind(3, sum.stored)
        var binder = ColumnBinder(statement: statement, index: 4)
        for value in line.values.dropFirst(TransactionField.keyCount) { binder.add(value) }
        try statement.run()
        return connection.changes == 1
      }
      // In a damaged file a line may stand where there was none.
      if known == nil, try write(LineTable.insert) { continue }
      _ = try write(LineTable.replace)
    }
    for sum in old.values {
      try connection.statement(
        "DELETE FROM transaction_line WHERE entitlement_id = ? AND transaction_id = ?"
      ).bind(1, id).bind(2, sum.transactionId).run()
    }
  }

  // MARK: Ids that rows are found by

  private func writeIds(
    _ new: [[String]], replacing old: [[String]]?, of id: Int64, _ connection: SQLiteConnection
  ) throws(LedgerError) {
    for (index, list) in (old ?? []).enumerated() {
      for value in list where !new[index].contains(where: { ByteSearch.areEqual($0, value) }) {
        try connection.statement(
          "DELETE FROM token WHERE kind = ? AND value = ? AND entitlement_id = ?"
        ).bind(1, Int64(index + 1)).bind(2, value).bind(3, id).run()
      }
    }
    for (index, list) in new.enumerated() {
      for value in list {
        try connection.statement(
          "INSERT OR IGNORE INTO token (kind, value, entitlement_id) VALUES (?, ?, ?)"
        ).bind(1, Int64(index + 1)).bind(2, value).bind(3, id).run()
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
