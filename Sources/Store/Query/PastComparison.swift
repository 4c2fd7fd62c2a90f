public import Platform

/// What of the purchases is another line than at an earlier moment, and why.
extension QueryReader {
  /// The columns of `transaction_v1` that say whose it is, and all that sums are made of.
  private static let compared = """
    environment, bundle_id, original_transaction_id, transaction_id, product_id, purchased_at_ms,
    ended_at_ms, currency, price_milliunits, refunded_milliunits
    """

  /// Prepares what differs from an earlier moment. Call it once.
  ///
  /// - Returns: the purchases that are other lines, each as it was `before` and is `after`; and the
  ///   events of these customers that were received between.
  /// - Throws: as `prepare(_:)`.
  public func differences(
    from former: Past
  ) throws(LedgerError) -> (purchases: Query, events: Query) {
    let now = SQLView.projectionSchema
    try connection.attach(former.path, .read, as: "former")
    func only(_ side: String, _ schema: String, butNot other: String) -> String {
      let lines = { (schema: String) in "SELECT \(Self.compared) FROM \(schema).transaction_v1" }
      return "SELECT '\(side)' AS side, * FROM (\(lines(schema)) EXCEPT \(lines(other)))"
    }
    let lines = """
      \(only("before", "former", butNot: now)) UNION ALL \(only("after", now, butNot: "former"))
      """
    return (
      try prepare(trusted: "\(lines) ORDER BY purchased_at_ms, transaction_id, side DESC"),
      try prepare(
        trusted: """
          SELECT seq, received_at_ms, notification_type, subtype, environment, bundle_id,
            original_transaction_id
          FROM journal_v1 WHERE seq > \(former.seq)
            AND (environment, bundle_id, original_transaction_id) IN (
              SELECT environment, bundle_id, original_transaction_id FROM (\(lines)))
          ORDER BY seq
          """)
    )
  }
}
