public import Platform

/// What others than the daemon may know of sinks.
extension SinkStore {
  /// How far a sink is, as it was last stored.
  public struct Summary: Sendable {
    public let seq: Int64
    /// `on`, `paused`, `gone` or `lost`.
    public let state: String
    public let held: Int64
    public let dead: Int64
  }

  /// The sinks in a data folder by name, whether or not a daemon runs; none if there is no file.
  ///
  /// - Throws: what SQLite or the file system reports.
  public static func summaries(_ folder: DataFolder) throws(LedgerError) -> [String: Summary] {
    guard let (connection, _) = try SinkFile.file(folder).read(in: folder) else { return [:] }
    defer { connection.close() }
    let all = try connection.statement(
      """
      SELECT name, seq, state,
        (SELECT count(*) FROM held h WHERE h.name = s.name AND h.replay = 0),
        (SELECT count(*) FROM dead d WHERE d.name = s.name AND d.replay = 0)
      FROM sink s WHERE replay = 0
      """
    ).all { row in
      (
        row.text(0),
        Summary(seq: row.int(1), state: row.text(2), held: row.int(3), dead: row.int(4))
      )
    }
    return Dictionary(all, uniquingKeysWith: { $1 })
  }

  /// The latest moment through which a sink of a data folder was told what no event causes,
  /// milliseconds since 1970; 0 if there is none.
  ///
  /// - Throws: what SQLite or the file system reports.
  public static func lastClock(_ folder: DataFolder) throws(LedgerError) -> Int64 {
    guard let (connection, _) = try SinkFile.file(folder).read(in: folder) else { return 0 }
    defer { connection.close() }
    return try connection.statement("SELECT max(clock_ms) FROM sink").first { $0.optionalInt(0) }
      .flatMap { $0 } ?? 0
  }

  /// The names of the sinks that a data folder ever had.
  ///
  /// - Throws: what the file system reports.
  public static func names(_ folder: DataFolder) throws(LedgerError) -> Set<String> {
    try SinkFile.names(folder)
  }
}
