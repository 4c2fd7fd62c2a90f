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

  /// What a data folder knows of the clock: the latest moment through which a sink was told what
  /// customers have by name, 0 for none; and wall clock minus boot time when they were last right,
  /// nil if that was not stored since the machine started. Milliseconds.
  ///
  /// - Throws: what SQLite or the file system reports.
  public static func clocks(
    _ folder: DataFolder, boot: [UInt8]
  ) throws(LedgerError) -> (customerClock: Int64, offset: Int64?) {
    let file = SinkFile.file(folder)
    guard let (connection, schema) = try file.read(in: folder) else { return (0, nil) }
    defer { connection.close() }
    let column = schema == file.schema ? "told_ms" : "clock_ms"
    let customerClock = try connection.statement("SELECT max(\(column)) FROM sink")
      .first { $0.optionalInt(0) }
    let offset = try connection.statement("SELECT offset_ms FROM clock WHERE boot = ?")
      .bind(1, boot).first { $0.int(0) }
    return ((customerClock ?? nil) ?? 0, offset)
  }

  /// The names of the sinks that a data folder ever had.
  ///
  /// - Throws: what the file system reports.
  public static func names(_ folder: DataFolder) throws(LedgerError) -> Set<String> {
    try SinkFile.names(folder)
  }
}
