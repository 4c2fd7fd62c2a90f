public import AppStore

/// Reads rows in the order of the file, for a caller that processes all of them.
extension ProjectionReader {
  /// A row with its id in the file.
  public struct NumberedRow: Sendable {
    public let id: Int64
    public let key: StreamKey
    public let state: [UInt8]
    public let isBroken: Bool
  }

  /// Up to `limit` rows with a greater id, in order of id. This is the cheapest order to read.
  ///
  /// - Throws: `StoreError.corrupt` when the file returns rows out of order, otherwise what SQLite
  ///   reports.
  public func numberedRows(after id: Int64, limit: Int) throws(StoreError) -> [NumberedRow] {
    try connection.statement(
      """
      SELECT e.id, environment, bundle_id, original_transaction_id, state, broken IS NOT NULL
      FROM entitlement e JOIN app a ON a.id = e.app_id WHERE e.id > ? ORDER BY e.id LIMIT ?
      """
    ).bind(1, id).bind(2, Int64(limit)).all { row in
      NumberedRow(
        id: row.int(0),
        key: StreamKey(
          environment: Environment(rawValue: row.text(1)), bundleId: row.text(2),
          originalTransactionId: row.text(3)),
        state: row.bytes(4), isBroken: row.int(5) == 1)
    }.ascending(after: id) { $0.id }
  }
}
