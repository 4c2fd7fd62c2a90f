public import AppStore
public import Platform

/// Reads held evidence.
extension JournalReader {
  /// When Apple last said again what the journal says of a stream: the signed date of the newest
  /// held evidence, in milliseconds since 1970 UTC. Nil if none is held.
  ///
  /// - Parameters:
  ///   - signedThrough: the latest signed date (Apple's time), in milliseconds since 1970 UTC.
  ///   - receivedThrough: the latest receive time (our time), in milliseconds since 1970 UTC.
  /// - Throws: what SQLite reports.
  public func confirmedAt(
    _ key: StreamKey, signedThrough: Int64 = .max, receivedThrough: Int64 = .max
  ) throws(LedgerError) -> Int64? {
    guard try hasEvidence() else { return nil }
    return try connection.statement(
      """
      SELECT signed_date_ms FROM held_evidence WHERE stream_id = \(Self.streamId)
        AND signed_date_ms <= ? AND received_at_ms <= ? ORDER BY signed_date_ms DESC LIMIT 1
      """
    ).bind(1, key.originalTransactionId).bind(2, key.environment.rawValue).bind(3, key.bundleId)
      .bind(4, signedThrough).bind(5, receivedThrough).first { $0.int(0) }
  }

  /// The same for each transaction of a stream, by transaction id.
  ///
  /// - Parameters: as of `confirmedAt`.
  /// - Throws: what SQLite reports.
  public func confirmedTransactions(
    _ key: StreamKey, signedThrough: Int64 = .max, receivedThrough: Int64 = .max
  ) throws(LedgerError) -> [String: Int64] {
    guard try hasEvidence() else { return [:] }
    var found: [String: Int64] = [:]
    try connection.statement(
      """
      SELECT transaction_id, max(signed_date_ms) FROM held_evidence
      WHERE stream_id = \(Self.streamId) AND transaction_id IS NOT NULL
        AND signed_date_ms <= ? AND received_at_ms <= ? GROUP BY transaction_id
      """
    ).bind(1, key.originalTransactionId).bind(2, key.environment.rawValue).bind(3, key.bundleId)
      .bind(4, signedThrough).bind(5, receivedThrough).forEach { row in
        found[row.text(0)] = row.int(1)
        return true
      }
    return found
  }

  /// What Apple said again about the customers of one app in one environment.
  public struct Confirmations: Sendable, Equatable {
    /// Customers about whom it did in the time that was asked for.
    public let customers: Int64
    /// When it last did, milliseconds since 1970 UTC.
    public let newest: Int64
  }

  /// What Apple said again, by app. Reads one entry of an index for each held piece of evidence.
  ///
  /// - Parameter time: customers are counted from this signed date on, milliseconds since 1970 UTC.
  /// - Throws: what SQLite reports.
  public func confirmations(
    since time: Int64
  ) throws(LedgerError) -> [ProjectionReader.Counts.App: Confirmations] {
    guard try hasEvidence() else { return [:] }
    var found: [ProjectionReader.Counts.App: Confirmations] = [:]
    try connection.statement(
      """
      SELECT a.environment, a.bundle_id, sum(h.newest >= ?), max(h.newest) FROM (
        SELECT stream_id, max(signed_date_ms) AS newest FROM held_evidence GROUP BY stream_id) h
      JOIN stream s ON s.id = h.stream_id JOIN app a ON a.id = s.app_id GROUP BY a.id
      """
    ).bind(1, time).forEach { row in
      let app = ProjectionReader.Counts.App(
        environment: Environment(rawValue: row.text(0)), bundleId: row.text(1))
      found[app] = Confirmations(customers: row.int(2), newest: row.int(3))
      return true
    }
    return found
  }

  /// Whether an event of a stream, up to a seq, satisfies a condition.
  ///
  /// - Throws: what SQLite reports.
  public func hasPayload(
    of key: StreamKey, through seq: Int64, where isFound: (JournaledPayload) -> Bool
  ) throws(LedgerError) -> Bool {
    var hasFound = false
    try connection.statement(
      """
      SELECT e.seq, e.source, e.notification_uuid, e.dictionary_id, \(CopyFaults.body)
      FROM event e
      WHERE e.stream_id = \(Self.streamId) AND e.seq <= ? AND \(CopyFaults.isProven)
      ORDER BY e.seq
      """
    ).bind(1, key.originalTransactionId).bind(2, key.environment.rawValue).bind(3, key.bundleId)
      .bind(4, seq).forEach { (row) throws(LedgerError) in
        hasFound = isFound(try codec.payload(row, of: key.originalTransactionId))
        return !hasFound
      }
    return hasFound
  }

  /// Held evidence in order of id, with bodies.
  ///
  /// - Throws: what SQLite reports.
  public func heldEvidence(after id: Int64, limit: Int) throws(LedgerError) -> [HeldEvidence] {
    guard try hasEvidence() else { return [] }
    return try connection.statement(
      HeldEvidence.select + "WHERE h.id > ? ORDER BY h.id LIMIT ?"
    ).bind(1, id).bind(2, Int64(limit)).all { (row) throws(LedgerError) in
      try HeldEvidence.read(row, codec)
    }
  }

  /// How many pieces of evidence are held.
  ///
  /// - Throws: what SQLite reports.
  public func heldEvidenceCount() throws(LedgerError) -> Int64 {
    guard try hasEvidence() else { return 0 }
    return try connection.statement("SELECT count(*) FROM held_evidence").first { $0.int(0) } ?? 0
  }
}
