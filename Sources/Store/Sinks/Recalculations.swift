public import Platform
public import StrictJSON

/// Customers for whom another fold has another answer, and when sinks are told: stored with the
/// positions of sinks, as their clock passes them like any other moment.
///
/// They are found by another process, which compares two projections and leaves a file in the data
/// folder. The daemon takes it over, at once or after its next start.
public struct Recalculation: Sendable {
  /// The stream's id in the journal.
  let stream: Int64
  /// Whether the other fold gave access.
  public let hadAccess: Bool
  /// The members of the row that differ, each with its two values, as JSON.
  public let changes: JSONValue

  public init(stream: Int64, hadAccess: Bool, changes: JSONValue) {
    (self.stream, self.hadAccess, self.changes) = (stream, hadAccess, changes)
  }

  public var json: JSONValue {
    .object([
      ("stream", .integer(stream)), ("had_access", .boolean(hadAccess)), ("changes", changes),
    ])
  }

  /// Reads what `json` writes. Returns nil for anything else.
  init?(_ root: JSONElement) {
    guard let stream = root["stream"]?.integer, let hadAccess = root["had_access"]?.boolean,
      let changes = root["changes"]?.value
    else { return nil }
    self.init(stream: stream, hadAccess: hadAccess, changes: changes)
  }
}

extension SinkStore {
  /// What a file of recalculations says in its first line: the two folds that were compared.
  public struct Announcement: Sendable, Equatable {
    let before: String
    let after: String

    public init(before: String, after: String) { (self.before, self.after) = (before, after) }

    public var json: JSONValue {
      .object([("before", .string(before)), ("after", .string(after))])
    }

    init?(_ root: JSONElement) {
      guard let before = root["before"]?.string, let after = root["after"]?.string else {
        return nil
      }
      self.init(before: before, after: after)
    }
  }

  /// Customers that are written in one SQL transaction.
  private static let batch = 5_000
  /// Bytes of a line at most.
  private static let lineBytes = 262_144

  /// Takes over the file of recalculations, if there is one: they are told in its order, some
  /// at each millisecond. The file is removed. The result is the same if a crash interrupts it.
  ///
  /// - Parameter now: milliseconds since 1970.
  /// - Returns: how many customers are announced; nil if there is no file, or if these two folds
  ///   were announced before.
  /// - Throws: `LedgerError.corrupt` if the file cannot be read, which is removed then; otherwise
  ///   what SQLite or the file system reports.
  public func takeAnnouncement(at now: Int64) throws(LedgerError) -> Int64? {
    let path = folder.announcement
    guard try DurableFile.size(path) != nil else { return nil }
    // Those of an attempt that was interrupted.
    try connection.execute("DELETE FROM recalculation WHERE at_ms IS NULL")
    let lines = try LineReader(path: path, maximum: Self.lineBytes, isPlain: true)
    guard let first = try next(lines), let announcement = Announcement(first) else {
      try DurableFile.remove(path)
      throw .corrupt("the list of recalculated customers")
    }
    guard try announcedAt(announcement) == nil else {
      try DurableFile.remove(path)
      return nil
    }
    var isAtEnd = false
    while !isAtEnd {
      try connection.atomically { () throws(LedgerError) in
        for _ in 0..<Self.batch {
          guard let line = try next(lines) else {
            isAtEnd = true
            break
          }
          guard let item = Recalculation(line) else { continue }
          try connection.statement(
            "INSERT INTO recalculation (stream, had_access, changes) VALUES (?, ?, ?)"
          ).bind(1, item.stream).bind(2, item.hadAccess ? 1 : 0).bind(3, item.changes.text).run()
        }
      }
      try connection.checkpointIfNeeded()
    }
    let count = try announce(announcement, at: now)
    try DurableFile.remove(path)
    return count
  }

  private func next(_ lines: LineReader) throws(LedgerError) -> JSONElement? {
    guard let line = try lines.next() else { return nil }
    return try? JSONDocument(parsing: line).root
  }

  /// Whether these two folds were announced in a data folder.
  ///
  /// - Throws: what SQLite or the file system reports.
  public static func isAnnounced(
    _ announcement: Announcement, in folder: DataFolder
  ) throws(LedgerError) -> Bool {
    let file = SinkFile.file(folder)
    guard let (connection, schema) = try file.read(in: folder) else { return false }
    defer { connection.close() }
    guard schema == file.schema else { return false }
    return try connection.statement("SELECT 1 FROM announcement WHERE before = ? AND after = ?")
      .bind(1, announcement.before).bind(2, announcement.after).first { _ in true } ?? false
  }

  private func announcedAt(_ announcement: Announcement) throws(LedgerError) -> Int64? {
    try connection.statement("SELECT at_ms FROM announcement WHERE before = ? AND after = ?")
      .bind(1, announcement.before).bind(2, announcement.after).first { $0.int(0) }
  }

  /// How many customers are told of a recalculation at one millisecond.
  private static let perMoment = 100

  private func announce(
    _ announcement: Announcement, at now: Int64
  ) throws(LedgerError) -> Int64 {
    var count: Int64 = 0
    try connection.atomically { () throws(LedgerError) in
      // No sink may be past that moment, also if the clock was set back.
      let last = try connection.statement("SELECT max(clock_ms) FROM sink").first { $0.int(0) }
      let at = max(now, (last ?? 0) + 1)
      let first =
        try connection.statement(
          "SELECT coalesce(min(rowid), 0) FROM recalculation WHERE at_ms IS NULL"
        ).first { $0.int(0) } ?? 0
      // Those of one moment are told together.
      try connection.statement(
        "UPDATE recalculation SET at_ms = ? + (rowid - ?) / \(Self.perMoment) WHERE at_ms IS NULL"
      ).bind(1, at).bind(2, first).run()
      count = Int64(connection.changes)
      try connection.statement("INSERT INTO announcement (before, after, at_ms) VALUES (?, ?, ?)")
        .bind(1, announcement.before).bind(2, announcement.after).bind(3, at).run()
    }
    return count
  }

  /// Removes recalculations that every sink has been told of and that none holds or gave up.
  ///
  /// - Throws: what SQLite reports.
  public func forgetTold() throws(LedgerError) {
    try connection.execute(
      """
      DELETE FROM recalculation WHERE at_ms <= (
          SELECT coalesce(min(clock_ms), 9223372036854775807) FROM sink WHERE replay = 0)
        AND at_ms NOT IN (SELECT turn_ms FROM held WHERE kind = 1)
        AND at_ms NOT IN (SELECT turn_ms FROM dead WHERE kind = 1)
      """)
  }

  /// The first recalculations after a time, through another, in order of time and stream.
  ///
  /// - Throws: what SQLite reports.
  public func recalculations(
    after time: Int64, through last: Int64, limit: Int
  ) throws(LedgerError) -> [(at: Int64, stream: Int64)] {
    try connection.statement(
      """
      SELECT at_ms, stream FROM recalculation WHERE at_ms > ? AND at_ms <= ?
      ORDER BY at_ms, stream LIMIT ?
      """
    ).bind(1, time).bind(2, last).bind(3, Int64(limit)).all { ($0.int(0), $0.int(1)) }
  }

  /// What is to be told of one customer; nil if it is not known any more.
  ///
  /// - Throws: what SQLite reports.
  public func recalculation(
    at time: Int64, of stream: Int64
  ) throws(LedgerError) -> Recalculation? {
    let found = try connection.statement(
      "SELECT had_access, changes FROM recalculation WHERE at_ms = ? AND stream = ?"
    ).bind(1, time).bind(2, stream).first { ($0.int(0) == 1, $0.text(1)) }
    guard let (hadAccess, changes) = found else { return nil }
    let value = try? JSONDocument(parsing: Array(changes.utf8)).root.value
    return Recalculation(stream: stream, hadAccess: hadAccess, changes: value ?? .object([]))
  }

  // MARK: The clock

  /// Stores wall clock minus boot time, milliseconds, as they are right.
  ///
  /// - Throws: what SQLite reports.
  public func setClockOffset(_ offset: Int64, boot: [UInt8]) throws(LedgerError) {
    try connection.atomically { () throws(LedgerError) in
      try connection.execute("DELETE FROM clock")
      try connection.statement("INSERT INTO clock (boot, offset_ms) VALUES (?, ?)").bind(1, boot)
        .bind(2, offset).run()
    }
  }
}
