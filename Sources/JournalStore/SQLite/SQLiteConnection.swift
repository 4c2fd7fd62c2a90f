import CSQLite

/// One SQLite connection, used by one thread.
///
/// - One connection writes and checkpoints; all others only read. SQLite before 3.51.3 can damage a
///   file when a second connection checkpoints during a commit (sqlite.org/wal.html, "the WAL-reset
///   bug"), so automatic checkpoints are off and readers never checkpoint, not even at close.
/// - `mmap_size` is 0: an I/O error is then a result code and not a signal.
package final class SQLiteConnection {
  package enum Mode: Sendable {
    /// Reads, writes and checkpoints. Only under the folder's lock, and only one per file.
    case write
    /// Reads beside a writer.
    case read
    /// Reads a file nobody writes, without its -wal. Creates nothing.
    case immutable
    /// Reads a file and its -wal that nobody else may touch meanwhile. Creates nothing: without
    /// locks and in exclusive mode the index of the -wal is kept in memory, not in a -shm file.
    case inspection
    /// Fills and reads a new file that nobody else knows yet. Asks the file system for no locks.
    case copy

    var isWriting: Bool { self == .write || self == .copy }
  }

  let handle: OpaquePointer
  private let isWriting: Bool
  private var isClosed = false
  /// By the length of their text: hashing the text costs as much as some statements do.
  private var statements = [[(sql: String, statement: Statement)]](repeating: [], count: 256)
  private let pagesInWAL: UnsafeMutablePointer<Int32>

  /// Once, before SQLite is first used (sqlite.org/c3ref/config.html).
  private static let isSetUp = subledger_sqlite_count_no_memory() == SQLITE_OK

  /// Opens a file that exists.
  package static func open(_ path: String, _ mode: Mode) throws(StoreError) -> SQLiteConnection {
    guard Self.isSetUp else { throw .sql("SQLite was used before it was set up") }
    var handle: OpaquePointer?
    let flags = mode.isWriting ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY
    let code = sqlite3_open_v2(
      uri(path, mode), &handle,
      flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI | SQLITE_OPEN_EXRESCODE, nil)
    guard let handle else { throw .sql("sqlite3_open_v2 had no memory") }
    guard code == SQLITE_OK else {
      let error = StoreError.of(code, String(cString: sqlite3_errmsg(handle)))
      sqlite3_close_v2(handle)
      throw error
    }
    let connection = SQLiteConnection(handle, mode)
    try connection.configure(mode)
    return connection
  }

  private init(_ handle: OpaquePointer, _ mode: Mode) {
    self.handle = handle
    isWriting = mode.isWriting
    pagesInWAL = .allocate(capacity: 1)
    pagesInWAL.initialize(to: 0)
  }

  /// What was not closed, as after a failure, leaves the -wal where it is.
  deinit {
    end()
    pagesInWAL.deallocate()
  }

  /// Closes the file now, in good order: the last one that writes copies the -wal into the file and
  /// removes it. Nothing may be asked of this connection afterwards.
  package func close() {
    guard !isClosed else { return }
    if isWriting { _ = subledger_sqlite_configure(handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0) }
    end()
  }

  private func end() {
    guard !isClosed else { return }
    isClosed = true
    statements.removeAll()
    sqlite3_close_v2(handle)
  }

  private static func uri(_ path: String, _ mode: Mode) -> String {
    var uri = "file:"
    for byte in path.utf8 {
      switch byte {
      case 0x61...0x7A, 0x41...0x5A, 0x30...0x39, 0x2F, 0x2E, 0x2D, 0x5F:
        uri.unicodeScalars.append(Unicode.Scalar(byte))
      default:
        uri += byte < 16 ? "%0" : "%"
        uri += String(byte, radix: 16)
      }
    }
    switch mode {
    case .write, .read: return uri
    case .immutable: return uri + "?immutable=1"
    case .inspection, .copy: return uri + "?vfs=unix-none"
    }
  }

  private func configure(_ mode: Mode) throws(StoreError) {
    sqlite3_busy_timeout(handle, 10_000)
    let options = [
      (SQLITE_DBCONFIG_DEFENSIVE, 1), (SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0),
      (SQLITE_DBCONFIG_DQS_DDL, 0), (SQLITE_DBCONFIG_DQS_DML, 0),
      (SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1),
    ]
    for (option, value) in options {
      let code = subledger_sqlite_configure(handle, option, Int32(value))
      guard code == SQLITE_OK else { throw .of(code, "sqlite3_db_config") }
    }
    if mode == .inspection || mode == .copy { try execute("PRAGMA locking_mode=EXCLUSIVE") }
    try execute("PRAGMA mmap_size=0; PRAGMA wal_autocheckpoint=0; PRAGMA recursive_triggers=ON")
    if !mode.isWriting { try execute("PRAGMA query_only=ON") }
    try execute("PRAGMA cache_size=-\(mode.isWriting ? 32_000 : 4_000)")
    if mode == .write {
      sqlite3_wal_hook(
        handle,
        { context, _, _, pages in
          context?.assumingMemoryBound(to: Int32.self).pointee = pages
          return SQLITE_OK
        }, pagesInWAL)
    }
  }

  /// Runs SQL that answers nothing of interest: pragmas, schemas.
  package func execute(_ sql: String) throws(StoreError) {
    let code = sqlite3_exec(handle, sql, nil, nil, nil)
    guard code == SQLITE_OK else { throw error(code) }
  }

  /// The prepared statement for this text, prepared once and kept.
  package func statement(_ sql: String) throws(StoreError) -> Statement {
    let place = sql.utf8.count & 255
    // The text of a literal is known by its address alone.
    for known in statements[place] where known.sql == sql { return known.statement }
    var raw: OpaquePointer?
    let code = sqlite3_prepare_v3(handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &raw, nil)
    guard code == SQLITE_OK, let raw else { throw error(code) }
    let statement = Statement(raw)
    statements[place].append((sql, statement))
    return statement
  }

  /// Runs `body` in one SQL transaction: all of it, or none of it and the error.
  package func atomically<Result>(
    _ body: () throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    try statement("BEGIN IMMEDIATE").run()
    do {
      let result = try body()
      try statement("COMMIT").run()
      return result
    } catch {
      rollBack()
      throw error
    }
  }

  /// SQLite rolls back by itself after some errors (sqlite.org/lang_transaction.html).
  private func rollBack() {
    if sqlite3_get_autocommit(handle) == 0 { try? statement("ROLLBACK").run() }
  }

  /// Reads that follow see one state of the file, until `endSnapshot`.
  package func beginSnapshot() throws(StoreError) {
    // Made ready before it is needed: what ends the snapshot must not fail for want of memory.
    _ = try statement("ROLLBACK")
    try statement("BEGIN").run()
  }

  package func endSnapshot() { rollBack() }

  package var lastRowId: Int64 { sqlite3_last_insert_rowid(handle) }

  /// Rows changed by the statement before.
  package var changes: Int { Int(sqlite3_changes64(handle)) }

  /// Pages in the -wal after the last commit of this connection.
  package var walPages: Int { Int(pagesInWAL.pointee) }

  /// Copies what it can from the -wal into the file without waiting for readers.
  package func checkpointPassive() throws(StoreError) { try checkpoint(SQLITE_CHECKPOINT_PASSIVE) }

  /// Copies the -wal into the file and empties it; `busy` while somebody reads the -wal.
  package func checkpointTruncate() throws(StoreError) {
    try checkpoint(SQLITE_CHECKPOINT_TRUNCATE)
  }

  private func checkpoint(_ kind: Int32) throws(StoreError) {
    var left: Int32 = 0
    var done: Int32 = 0
    let code = sqlite3_wal_checkpoint_v2(handle, nil, kind, &left, &done)
    guard code == SQLITE_OK else { throw error(code) }
    if left == done { pagesInWAL.pointee = 0 }
  }

  private func error(_ code: Int32) -> StoreError {
    .of(code, String(cString: sqlite3_errmsg(handle)))
  }
}
