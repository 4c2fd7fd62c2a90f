public import Platform

/// A copy of a journal as of one moment, in one file without a -wal and not marked as open. It can
/// be read as it is, and a daemon can start on it.
public struct JournalCopy: Sendable {
  public let journalId: [UInt8]
  public let head: Head
  /// The number of the schema.
  public let schema: Int
  /// The number of notifications in quarantine, which is part of the journal.
  public let quarantined: Int64

  /// The number of pages copied between two calls of `progress`: 1 MiB.
  private static let stepPages: Int32 = 256

  /// Copies a folder's journal, with or without a running daemon, and syncs the copy.
  ///
  /// While a daemon runs, the copy is read through the -wal. It holds whole SQL transactions only,
  /// and everything that was answered before the call (promise 1). The daemon continues to write;
  /// its -wal grows until the copy is complete, because a checkpoint cannot pass a reader. Without
  /// a daemon, the files must pass the checks of a start, and no file is created beside them.
  ///
  /// - Parameters:
  ///   - path: a file that does not exist yet; it is made with mode 0600.
  ///   - progress: called with the bytes copied and the bytes in total. It returns false to stop.
  /// - Returns: nil if `progress` stopped the copy.
  /// - Throws: what a start would throw: `LedgerError.missingWAL`, `.brokenTail`, `.newer`,
  ///   `.foreign`, `.frozenMigration`; `.busy` when daemons start and stop during three attempts;
  ///   `.full` or another error of the disk when the copy cannot be written.
  public static func make(
    of folder: DataFolder, at path: String, progress: (Int64, Int64) -> Bool
  ) throws(LedgerError) -> JournalCopy? {
    try folder.requireJournal()
    for _ in 0..<3 {
      if try folder.isLocked() { return try copy(folder, .read, path, progress) }
      let identity = try identity(folder)
      do throws(LedgerError) {
        let hasWAL = try StartUp.examine(folder)
        let copy = try copy(folder, hasWAL ? .inspection : .immutable, path, progress)
        // No lock prevents a daemon from starting during the copy. Such a daemon has changed the
        // file: it marks the journal as open.
        if try !folder.isLocked(), try self.identity(folder) == identity { return copy }
      } catch {
        guard try folder.isLocked() else { throw error }
      }
    }
    throw .busy
  }

  private static func identity(_ folder: DataFolder) throws(LedgerError) -> FileIdentity {
    try FileIdentity.of(folder.journal)
  }

  private static func copy(
    _ folder: DataFolder, _ mode: SQLiteConnection.Mode, _ path: String,
    _ progress: (Int64, Int64) -> Bool
  ) throws(LedgerError) -> JournalCopy? {
    for suffix in ["", "-journal", "-wal"] { try DurableFile.remove(path + suffix) }
    try DurableFile.create(path)
    let source = try SQLiteConnection.open(folder.journal, mode)
    defer { source.close() }
    let schema = try source.requireOurs(
      folder.journal, applicationId: StartUp.journalApplicationId, known: Migrator.known)
    try source.beginSnapshot()
    defer { source.endSnapshot() }
    let reader = try JournalReader(source, folder.fold)
    let copied = JournalCopy(
      journalId: try reader.journalId(), head: try reader.head(), schema: schema,
      quarantined: try reader.quarantineCounts().stored)
    let target = try SQLiteConnection.open(path, .copy)
    defer { target.close() }
    guard try fill(target, from: source, progress) else { return nil }
    try leaveWALMode(target)
    target.close()
    try DurableFile.sync(path)
    return copied
  }

  private static func fill(
    _ target: SQLiteConnection, from source: SQLiteConnection, _ progress: (Int64, Int64) -> Bool
  ) throws(LedgerError) -> Bool {
    // Nothing uses the file before the copy is complete, so it is synced once, at the end.
    try target.execute("PRAGMA synchronous=OFF")
    let pageSize = try source.statement("PRAGMA page_size").first { $0.int(0) } ?? 4096
    var copy = try PageCopy.begin(from: source, to: target)
    while try copy.step(stepPages) {
      let (done, all) = copy.progress
      guard progress(done * pageSize, all * pageSize) else { return false }
    }
    return true
  }

  /// Leaves WAL mode and clears the open flag, so that the file is like one that was closed.
  private static func leaveWALMode(_ target: SQLiteConnection) throws(LedgerError) {
    let mode = try target.statement("PRAGMA journal_mode=DELETE").first { $0.text(0) }
    guard mode == "delete" else { throw .sql("the copy stays in WAL mode") }
    try target.atomically { () throws(LedgerError) in
      try Meta(connection: target).set(.open, 0)
    }
  }
}
