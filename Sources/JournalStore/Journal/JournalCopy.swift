import Platform

/// A journal in a file of its own, as it was at one moment: no -wal beside it, and not marked as
/// open, so that it can be read, and later be started on, as it lies there.
public struct JournalCopy: Sendable {
  public let journalId: [UInt8]
  public let head: Head
  /// The schema's number.
  public let schema: Int
  /// How many notifications are in quarantine, which is a part of the journal.
  public let quarantined: Int64

  /// Pages copied between two looks at whether to go on: a MiB.
  private static let stepPages: Int32 = 256

  /// Copies a folder's journal, whether a daemon runs on it or not, and syncs the copy.
  ///
  /// Beside a daemon it reads through the -wal like any reader: what was answered before this was
  /// called is in it (promise 1), whole SQL transactions of the daemon and nothing else. The daemon
  /// goes on writing; its -wal grows until the snapshot ends, since no checkpoint passes a reader.
  /// Where no daemon runs, the files must be such that one would start on them, and nothing is
  /// created beside them.
  ///
  /// - Parameters:
  ///   - path: a file that is not there; it is made with mode 0600.
  ///   - progress: MiB copied and in all; false stops.
  /// - Returns: nil where it was stopped.
  /// - Throws: also what a start would throw: `missingWAL`, `brokenTail`, `newer`, `foreign`;
  ///   `busy` where daemons come and go meanwhile.
  public static func make(
    of folder: DataFolder, at path: String, progress: (Int64, Int64) -> Bool
  ) throws(StoreError) -> JournalCopy? {
    guard try folder.hasJournal() else {
      throw .foreign("there is no journal.sqlite in \(folder.path)")
    }
    for _ in 0..<3 {
      if try folder.isLocked() { return try copy(folder, .read, path, progress) }
      let stamp = try stamp(folder)
      do throws(StoreError) {
        let hasWAL = try StartUp.examine(folder)
        let copy = try copy(folder, hasWAL ? .inspection : .immutable, path, progress)
        // No lock kept a daemon from starting. One that did has written the file by now: it marks
        // the journal as open.
        if try !folder.isLocked(), try self.stamp(folder) == stamp { return copy }
      } catch {
        guard try folder.isLocked() else { throw error }
      }
    }
    throw .busy
  }

  private static func stamp(_ folder: DataFolder) throws(StoreError) -> FileIdentity {
    try platform { () throws(PlatformError) in try FileIdentity.of(folder.journal) }
  }

  private static func copy(
    _ folder: DataFolder, _ mode: SQLiteConnection.Mode, _ path: String,
    _ progress: (Int64, Int64) -> Bool
  ) throws(StoreError) -> JournalCopy? {
    try platform { () throws(PlatformError) in
      for suffix in ["", "-journal", "-wal"] { try DurableFile.remove(path + suffix) }
      try DurableFile.create(path)
    }
    let source = try SQLiteConnection.open(folder.journal, mode)
    defer { source.close() }
    let schema = try source.requireOurs(
      folder.journal, mark: StartUp.journalMark, known: Migrator.known)
    try source.beginSnapshot()
    defer { source.endSnapshot() }
    let reader = JournalReader(source)
    let copied = JournalCopy(
      journalId: try reader.journalId(), head: try reader.head(), schema: schema,
      quarantined: try reader.quarantineCounts().kept)
    let target = try SQLiteConnection.open(path, .copy)
    defer { target.close() }
    guard try fill(target, from: source, progress) else { return nil }
    try settle(target)
    target.close()
    try platform { () throws(PlatformError) in try DurableFile.sync(path) }
    return copied
  }

  private static func fill(
    _ target: SQLiteConnection, from source: SQLiteConnection, _ progress: (Int64, Int64) -> Bool
  ) throws(StoreError) -> Bool {
    // The file is synced once, at the end; until then it is nobody's.
    try target.execute("PRAGMA synchronous=OFF")
    let pageSize = try source.statement("PRAGMA page_size").first { $0.int(0) } ?? 4096
    var copy = try PageCopy.begin(from: source, to: target)
    while try copy.step(stepPages) {
      let (done, all) = copy.progress
      guard progress(done * pageSize >> 20, all * pageSize >> 20) else { return false }
    }
    return true
  }

  /// Out of WAL mode, and closed in good order (`Journal.close` does no more than that).
  private static func settle(_ target: SQLiteConnection) throws(StoreError) {
    let mode = try target.statement("PRAGMA journal_mode=DELETE").first { $0.text(0) }
    guard mode == "delete" else { throw .sql("the copy stays in WAL mode") }
    try target.atomically { () throws(StoreError) in
      try Meta(connection: target).set(.open, 0)
    }
  }
}

extension JournalReader {
  /// How many events there are, whatever their places.
  public func eventCount() throws(StoreError) -> Int64 {
    try connection.statement("SELECT count(*) FROM event").first { $0.int(0) } ?? 0
  }

  /// Places past one, lowest first.
  public func places(after seq: Int64, limit: Int) throws(StoreError) -> [Int64] {
    try connection.statement("SELECT seq FROM event WHERE seq > ? ORDER BY seq LIMIT ?")
      .bind(1, seq).bind(2, Int64(limit)).all { $0.int(0) }
  }

  /// The schema's number.
  public func schema() throws(StoreError) -> Int {
    try connection.statement("PRAGMA user_version").first { Int($0.int(0)) } ?? 0
  }
}
