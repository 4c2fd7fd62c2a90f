import AppStore
public import Entitlements
public import Platform

/// The table `refund_request`: a row for each request for a refund, by the fields of `RefundField`.
enum RefundTable {
  /// The definitions of its columns.
  static let definitions = RefundField.stored.map { field in
    "\(field.column) \(field.kind.columnType.rawValue.uppercased()),"
  }.joined(separator: "\n  ")

  private static let names = RefundField.stored.map(\.column).joined(separator: ", ")

  private static let insert = """
    INSERT INTO refund_request (entitlement_id, app_id, checksum, \(names))
    VALUES (\((1...RefundField.stored.count + 3).map { "?\($0)" }.joined(separator: ", ")))
    """

  static let select = """
    SELECT r.checksum, r.app_id, e.original_transaction_id,
      \(RefundField.stored.map { "r.\($0.column)" }.joined(separator: ", "))
    FROM refund_request r JOIN entitlement e ON e.id = r.entitlement_id
    """

  /// Replaces all requests of a row.
  static func write(
    _ requests: [RefundLine], of id: Int64, _ app: Int64, _ connection: SQLiteConnection
  ) throws(LedgerError) {
    try connection.statement("DELETE FROM refund_request WHERE entitlement_id = ?")
      .bind(1, id).run()
    for request in requests {
      let statement = try connection.statement(insert)
      statement.bind(1, id).bind(2, app).bind(3, checksum(request))
      var binder = ColumnBinder(statement: statement, index: 4)
      for value in stored(request) { binder.add(value) }
      try statement.run()
    }
  }

  private static func stored(_ request: RefundLine) -> ArraySlice<FieldValue> {
    request.values[RefundField.stored.startIndex...]
  }

  static func checksum(_ request: RefundLine) -> Int64 {
    var sum = Checksum()
    sum.add(request.key.originalTransactionId)
    for value in stored(request) { sum.add(value) }
    return sum.value
  }
}

extension RowReading {
  /// The requests of a row, each checked.
  func requests(of stored: Stored) throws(LedgerError) -> [RefundLine] {
    guard stored.requestCount > 0 else { return [] }
    let requests = try connection.statement(
      RefundTable.select + " WHERE r.entitlement_id = ? ORDER BY r.deadline_ms, r.notification_uuid"
    ).bind(1, stored.id).all(request)
    guard requests.count == stored.requestCount else { throw .corrupt("a request is missing") }
    return requests
  }

  /// - Parameter row: of `RefundTable.select`.
  func request(_ row: Statement) throws(LedgerError) -> RefundLine {
    let values = RefundField.stored.enumerated().map { index, field in
      row.value(Int32(index + 3), field.kind)
    }
    let request = RefundLine(
      StreamKey(try self.values.app(row.int(1)), row.text(2)), stored: values)
    guard RefundTable.checksum(request) == row.int(0) else { throw .corrupt("a request") }
    return request
  }
}

/// How many requests for refunds are alike.
public struct RefundCount: Sendable {
  public let app: ProjectionReader.Counts.App
  /// A `RefundRequest.State`.
  public let state: String
  /// As in `refund_request_v1`.
  public let policy: String?
  public let outcome: String?
  public let count: Int64
  /// The earliest of them, milliseconds since 1970.
  public let deadline: Int64
}

extension ProjectionReader {
  /// How many requests for refunds there are at a time, milliseconds since 1970.
  ///
  /// - Throws: what SQLite reports.
  public func refundCounts(at now: Int64) throws(LedgerError) -> [RefundCount] {
    let shown = ["state", "outcome"].map { SQLView.requestExpressions[$0] ?? "" }
    return try connection.statement(
      """
      WITH clock AS (SELECT ?1 AS now)
      SELECT r.app_id, \(shown[0]) AS state, r.policy, \(shown[1]) AS outcome, count(*),
        min(r.deadline_ms)
      FROM clock CROSS JOIN refund_request r GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4
      """
    ).bind(1, now).all { row throws(LedgerError) in
      let app = try reading.values.app(row.int(0))
      return RefundCount(
        app: .init(environment: app.environment, bundleId: app.bundleId), state: row.text(1),
        policy: row.optionalText(2), outcome: row.optionalText(3), count: row.int(4),
        deadline: row.int(5))
    }
  }

  /// The place of a request in their order: its deadline, then its UUID.
  public typealias RefundPlace = (deadline: Int64, uuid: String)

  /// Requests for refunds in the order of their deadlines, after one, as they are stored.
  ///
  /// - Parameters:
  ///   - transactionId: only those about this transaction; nil for all.
  ///   - isNewestFirst: whether the order is the other way round.
  /// - Throws: `LedgerError.corrupt` when one is damaged, otherwise what SQLite reports.
  public func refundRequests(
    about transactionId: String?, after place: RefundPlace?, limit: Int,
    isNewestFirst: Bool = false
  ) throws(LedgerError) -> [RefundLine] {
    let (sign, order) = isNewestFirst ? ("<", "DESC") : (">", "ASC")
    let start = place ?? (isNewestFirst ? .max : .min, "")
    return try connection.statement(
      RefundTable.select + """
         WHERE \(transactionId == nil ? "?4 IS NULL" : "r.transaction_id = ?4")
          AND (r.deadline_ms, r.notification_uuid) \(sign) (?1, ?2)
        ORDER BY r.deadline_ms \(order), r.notification_uuid \(order) LIMIT ?3
        """
    ).bind(1, start.deadline).bind(2, start.uuid).bind(3, Int64(limit)).bind(4, transactionId)
      .all(reading.request)
  }
}
