public import AppStore
public import Platform

/// When time alone may change the answer of a row.
public struct ProjectedTurn: Sendable, Equatable {
  /// Milliseconds since 1970.
  public let at: Int64
  public let key: StreamKey
}

extension ProjectionReader {
  /// The first moments after a time, through another, at which a row's status, access or product
  /// may change: where a span begins that differs from the one before, and where a configured
  /// duration ends. In order of time; each is read from an index. The caller has begun a snapshot.
  ///
  /// - Parameters:
  ///   - after: milliseconds since 1970, as `last` is.
  ///   - limit: how many at most.
  /// - Throws: what SQLite reports.
  public func turns(
    after time: Int64, through last: Int64, limit: Int
  ) throws(LedgerError) -> [ProjectedTurn] {
    try connection.statement(Self.turns).bind(1, time).bind(2, last)
      .bind(3, Int64(limit)).all { row in
        ProjectedTurn(
          at: row.int(0),
          key: StreamKey(
            environment: Environment(rawValue: row.text(1)), bundleId: row.text(2),
            originalTransactionId: row.text(3)))
      }
  }

  private static let turns = """
    WITH turn AS (
      SELECT * FROM (
        SELECT s.from_ms AS at_ms, s.entitlement_id AS id
        FROM entitlement_span s INDEXED BY entitlement_span_turn
        WHERE s.is_turn AND s.from_ms > ?1 AND s.from_ms <= ?2
        ORDER BY s.from_ms LIMIT ?3)
      UNION
      SELECT * FROM (
        SELECT e.lasting_from_ms + d.milliseconds AS at_ms, e.id
        FROM duration d CROSS JOIN entitlement e INDEXED BY entitlement_lasting
          ON e.lasting_product_id = d.product_id
        WHERE e.lasting_from_ms > ?1 - d.milliseconds AND e.lasting_from_ms <= ?2 - d.milliseconds
          AND e.app_id = d.app_id AND at_ms > d.from_ms AND coalesce(at_ms < d.until_ms, 1)
          AND e.lasting_product_id IS NOT NULL
        ORDER BY 1 LIMIT ?3)
    )
    SELECT turn.at_ms, a.environment, a.bundle_id, e.original_transaction_id
    FROM turn JOIN entitlement e ON e.id = turn.id JOIN app a ON a.id = e.app_id
    ORDER BY turn.at_ms, turn.id LIMIT ?3
    """
}
