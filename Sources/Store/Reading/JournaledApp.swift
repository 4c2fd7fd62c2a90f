public import AppStore
public import Platform

/// Reads the apps of the journal and what is known of each.
extension JournalReader {
  /// An app in one environment, with its id in the journal.
  public struct JournaledApp: Sendable {
    public let id: Int64
    public let environment: Environment
    public let bundleId: String

    /// - Parameter row: begins with `id, environment, bundle_id` of the table `app`.
    init(_ row: Statement) {
      (id, environment) = (row.int(0), Environment(rawValue: row.text(1)))
      bundleId = row.text(2)
    }
  }

  /// Every app that has events, by bundle id and environment.
  ///
  /// - Throws: what SQLite reports.
  public func apps() throws(LedgerError) -> [JournaledApp] {
    try connection.statement("SELECT id, environment, bundle_id FROM app ORDER BY 3, 2").all {
      JournaledApp($0)
    }
  }

  /// The greatest seq of each app among up to `limit` streams with greater ids. Only reads indexes.
  ///
  /// - Returns: the seqs by `JournaledApp.id`, and the stream id to pass next, or nil at the end.
  /// - Throws: what SQLite reports.
  public func lastSeqs(
    afterStream id: Int64, limit: Int
  ) throws(LedgerError) -> (seqs: [Int64: Int64], next: Int64?) {
    let last = try lastStreamId()
    let end = id + Int64(limit)
    let found = try connection.statement(
      """
      SELECT s.app_id, max(e.seq) FROM stream s CROSS JOIN event e INDEXED BY event_stream
        ON e.stream_id = s.id
      WHERE s.id > ? AND s.id <= ? GROUP BY s.app_id
      """
    ).bind(1, id).bind(2, end).all { ($0.int(0), $0.int(1)) }
    return (Dictionary(found, uniquingKeysWith: max), end < last ? end : nil)
  }
}
