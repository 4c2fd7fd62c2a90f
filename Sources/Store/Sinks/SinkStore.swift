public import Platform

/// Stores how far each sink is: what is held, what was given up. Used by one thread.
///
/// Commits are not synced (`synchronous=NORMAL`): after a loss of power a place may be older than
/// it was, which repeats messages and loses none (promise 12).
public final class SinkStore {
  let folder: DataFolder
  let connection: SQLiteConnection
  /// Names that were in a file that is no longer there.
  public let lostNames: Set<String>
  /// Names this file among those of all daemons.
  public let id: [UInt8]

  /// Opens `sinks.sqlite`; one that cannot be used is put aside and made anew.
  ///
  /// - Throws: `LedgerError.newer` for a file of a newer program; else what SQLite or the file
  ///   system reports.
  public init(_ folder: DataFolder, journalId: [UInt8]) throws(LedgerError) {
    self.folder = folder
    connection = try SinkFile.file(folder).open(journalId: journalId)
    let known = try connection.statement("SELECT DISTINCT name FROM sink").all { $0.text(0) }
    id = try connection.statement("SELECT id FROM file").first { $0.bytes(0) } ?? []
    lostNames = try SinkFile.names(folder).subtracting(known)
  }

  public func close() { connection.close() }

  // MARK: Reading

  /// What is stored of every sink and replay, in the order of their ids.
  ///
  /// - Throws: what SQLite reports.
  public func sinks() throws(LedgerError) -> [SinkRecord] {
    try connection.statement(
      """
      SELECT name, replay, seq, hash, clock_ms, state, since_ms, reason, last, only, told_ms
      FROM sink ORDER BY name, replay
      """
    ).all { row in
      SinkRecord(
        SinkRecord.ID(row.text(0), replay: row.int(1)), seq: row.int(2), hash: row.bytes(3),
        clock: row.int(4), customerClock: row.int(10), state: row.text(5), since: row.int(6),
        reason: row.optionalText(7), last: row.optionalInt(8), only: row.optionalText(9))
    }
  }

  /// What a sink holds, in its order.
  ///
  /// - Throws: what SQLite reports.
  public func held(_ id: SinkRecord.ID) throws(LedgerError) -> [HeldRecord] {
    try connection.statement(
      Self.select + "FROM held WHERE name = ? AND replay = ? ORDER BY ordinal"
    )
    .bind(1, id.name).bind(2, id.replay).all(Self.record)
  }

  /// The earliest event, and the earliest moment, that each sink holds a message of.
  ///
  /// - Throws: what SQLite reports.
  public func heldStarts() throws(LedgerError) -> [String: (seq: Int64?, clock: Int64?)] {
    let rows = try connection.statement(
      "SELECT name, min(seq), min(turn_ms) FROM held WHERE replay = 0 GROUP BY name"
    ).all { ($0.text(0), $0.optionalInt(1), $0.optionalInt(2)) }
    return Dictionary(rows.map { ($0, (seq: $1, clock: $2)) }) { $1 }
  }

  /// What was given up, in its order, after an ordinal.
  ///
  /// - Throws: what SQLite reports.
  public func dead(
    _ id: SinkRecord.ID, after ordinal: Int64 = -1, limit: Int
  ) throws(LedgerError) -> [HeldRecord] {
    try connection.statement(
      Self.select
        + "FROM dead WHERE name = ? AND replay = ? AND ordinal > ? ORDER BY ordinal LIMIT ?"
    ).bind(1, id.name).bind(2, id.replay).bind(3, ordinal).bind(4, Int64(limit)).all(Self.record)
  }

  /// What was given up though the sink's place is before it.
  ///
  /// - Throws: what SQLite reports.
  public func dead(
    _ id: SinkRecord.ID, afterSeq seq: Int64, time: Int64
  ) throws(LedgerError) -> [HeldRecord] {
    try connection.statement(
      Self.select + "FROM dead WHERE name = ? AND replay = ? AND (seq > ? OR turn_ms > ?)"
    ).bind(1, id.name).bind(2, id.replay).bind(3, seq).bind(4, time).all(Self.record)
  }

  /// How many messages were given up, and the last ordinal of one.
  ///
  /// - Throws: what SQLite reports.
  public func deadCount(_ id: SinkRecord.ID) throws(LedgerError) -> (count: Int64, last: Int64) {
    try connection.statement(
      "SELECT count(*), coalesce(max(ordinal), 0) FROM dead WHERE name = ? AND replay = ?"
    ).bind(1, id.name).bind(2, id.replay).first { ($0.int(0), $0.int(1)) } ?? (0, 0)
  }

  private static let select = """
    SELECT ordinal, seq, turn_ms, stream, received_ms, attempts, refusals, next_ms, first_ms,
      status, failure, kind
    """ + " "

  private static func record(_ row: Statement) -> HeldRecord {
    HeldRecord(
      ordinal: row.int(0), seq: row.optionalInt(1), turn: row.optionalInt(2),
      stream: row.optionalInt(3), receivedAt: row.int(4), attempts: Int(row.int(5)),
      refusals: Int(row.int(6)), nextAt: row.int(7), firstAt: row.optionalInt(8),
      status: row.optionalInt(9).map { Int($0) }, failure: row.optionalText(10),
      kind: row.int(11))
  }
}
