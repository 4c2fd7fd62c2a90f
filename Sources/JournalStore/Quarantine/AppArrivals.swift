/// When notifications came, for those who ask whether it is too quiet.
extension JournalReader {
  /// Receive times of an app's newest events, the newest first, ms; none where it never had one.
  public func arrivals(
    environment: String, bundleId: String, limit: Int
  ) throws(StoreError) -> [Int64] {
    let app = try connection.statement(
      "SELECT id FROM app WHERE environment = ? AND bundle_id = ?"
    ).bind(1, environment).bind(2, bundleId).first { $0.int(0) }
    guard let app else { return [] }
    // From the newest on: an app that is heard of has all of them near the head.
    return try connection.statement(
      """
      SELECT e.received_at_ms FROM event e CROSS JOIN stream s ON s.id = e.stream_id
      WHERE s.app_id = ? ORDER BY e.seq DESC LIMIT ?
      """
    ).bind(1, app).bind(2, Int64(limit)).all { $0.int(0) }
  }
}
