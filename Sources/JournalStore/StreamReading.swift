/// Where a stream's events lie, for those who look at each of them in the journal itself.
extension JournalReader {
  /// The places of a stream's events, in order.
  public func seqs(of key: StreamKey) throws(StoreError) -> [Int64] {
    try connection.statement(
      """
      SELECT e.seq FROM event e WHERE e.stream_id = (
        SELECT stream.id FROM stream JOIN app ON app.id = stream.app_id
        WHERE original_transaction_id = ? AND environment = ? AND bundle_id = ?)
      ORDER BY e.seq
      """
    ).bind(1, key.originalTransactionId).bind(2, key.environment).bind(3, key.bundleId)
      .all { $0.int(0) }
  }
}
