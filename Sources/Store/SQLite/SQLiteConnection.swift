import CSQLite
package import Platform
import Synchronization

/// One SQLite connection, used by one thread.
///
/// - One connection writes and checkpoints; all others only read. SQLite before 3.51.3 can damage a
///   file when a second connection checkpoints during a commit (sqlite.org/wal.html, "the WAL-reset
///   bug"). Therefore automatic checkpoints are off, and readers do not checkpoint, not even when
///   they close.
/// - `mmap_size` is 0, so that an I/O error is a result code and not a signal.
package final class SQLiteConnection {
  /// How a file is opened.
  package enum Mode: Sendable {
    /// Reads, writes and checkpoints. Requires the folder's lock; one connection per file.
    case write
    /// Reads beside a writer.
    case read
    /// Reads a file that no process writes, without its -wal. Creates no file.
    case immutable
    /// Reads a file and its -wal that no other process may use meanwhile. Creates no file: without
    /// locks and in exclusive mode SQLite holds the index of the -wal in memory, not in a -shm
    /// file.
    case inspection
    /// Writes and reads a new file that no other process uses yet. Takes no file locks.
    case copy

    var isWriting: Bool { self == .write || self == .copy }
  }

  let handle: OpaquePointer
  private let isWriting: Bool
  private var isClosed = false
  /// Prepared statements in buckets by the length of their text: hashing the text would cost as
  /// much as some statements do.
  private var statements = [[(sql: String, statement: Statement)]](repeating: [], count: 256)
  private let pagesInWAL: UnsafeMutablePointer<Int32>
  /// What SQLite reports changed rows to, if anything.
  var changedRows: ChangedRows?
  /// What statements ask whether they may go on, if anything.
  private var limit: WorkLimit?

  /// Bytes that SQLite may hold in this process; 0 for any number. Set before any file is opened.
  static let heapLimit = Atomic<Int64>(0)

  /// Evaluated once, before SQLite is first used (sqlite.org/c3ref/config.html).
  private static let isSetUp = setUp()

  /// A limit needs the count of memory (sqlite.org/c3ref/hard_heap_limit64.html).
  private static func setUp() -> Bool {
    let limit = heapLimit.load(ordering: .relaxed)
    guard limit > 0 else { return subledger_sqlite_count_no_memory() == SQLITE_OK }
    return sqlite3_hard_heap_limit64(limit) >= 0
  }

  /// Opens an existing file.
  ///
  /// - Throws: `LedgerError.io` when the file cannot be opened, otherwise what SQLite reports.
  package static func open(_ path: String, _ mode: Mode) throws(LedgerError) -> SQLiteConnection {
    guard Self.isSetUp else { throw .sql("SQLite was used before it was set up") }
    var handle: OpaquePointer?
    let flags = mode.isWriting ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY
    let code = sqlite3_open_v2(
      uri(path, mode), &handle,
      flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI | SQLITE_OPEN_EXRESCODE, nil)
    guard let handle else { throw .sql("sqlite3_open_v2 had no memory") }
    guard code == SQLITE_OK else {
      let error = LedgerError.of(code, String(cString: sqlite3_errmsg(handle)))
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

  /// A connection that was not closed explicitly, as after a failure, does not remove the -wal.
  deinit {
    end()
    pagesInWAL.deallocate()
  }

  /// Closes the file. If this is a writing connection and the last one, SQLite copies the -wal into
  /// the file and removes it. The connection must not be used afterwards.
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

  private func configure(_ mode: Mode) throws(LedgerError) {
    sqlite3_busy_timeout(handle, 10_000)
    let options = [
      (SQLITE_DBCONFIG_DEFENSIVE, 1), (SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0),
      (SQLITE_DBCONFIG_DQS_DDL, 0), (SQLITE_DBCONFIG_DQS_DML, 0),
      (SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1),
      // Otherwise a statement that a partial index may serve is prepared again for each value that
      // is bound (sqlite.org/queryplanner-ng.html#qpstab).
      (SQLITE_DBCONFIG_ENABLE_QPSG, 1),
    ]
    for (option, value) in options {
      let code = subledger_sqlite_configure(handle, option, Int32(value))
      guard code == SQLITE_OK else { throw .of(code, "sqlite3_db_config") }
    }
    if mode == .inspection || mode == .copy { try execute("PRAGMA locking_mode=EXCLUSIVE") }
    try execute("PRAGMA mmap_size=0; PRAGMA wal_autocheckpoint=0; PRAGMA recursive_triggers=ON")
    if !mode.isWriting { try execute("PRAGMA query_only=ON") }
    // What is deleted may be personal (sqlite.org/pragma.html#pragma_secure_delete).
    if mode == .write { try execute("PRAGMA secure_delete=ON") }
    if mode.isWriting { PageGaps.clear(handle) }
    try execute("PRAGMA cache_size=-\(mode.isWriting ? Self.writersCache : Self.readersCache)")
    if mode == .write {
      sqlite3_wal_hook(
        handle,
        { context, _, _, pages in
          context?.assumingMemoryBound(to: Int32.self).pointee = pages
          return SQLITE_OK
        }, pagesInWAL)
    }
  }

  /// Kilobytes of pages that a connection holds at most. The writer has two that write, and the
  /// daemon some twenty that read: together they stay within its 120 MB. What is not held is read
  /// from the system's memory.
  private static let (writersCache, readersCache) = (12_000, 1_000)

  /// Holds half a megabyte of pages instead of one.
  ///
  /// - Throws: what SQLite reports.
  func limitCache() throws(LedgerError) { try execute("PRAGMA cache_size=-500") }

  /// Instructions of SQLite between two questions to a limit: a tenth of a millisecond, or less.
  private static let instructions: Int32 = 2_000

  /// Has every statement ask a limit while it runs, and fail with `LedgerError.stopped` when it has
  /// to end (sqlite.org/c3ref/progress_handler.html).
  package func ask(_ limit: WorkLimit) {
    self.limit = limit
    sqlite3_progress_handler(
      handle, Self.instructions,
      { context in
        guard let context else { return 0 }
        let limit = Unmanaged<WorkLimit>.fromOpaque(context).takeUnretainedValue()
        return limit.reason == nil ? 0 : 1
      }, Unmanaged.passUnretained(limit).toOpaque())
  }

  /// Frees the pages in memory. Between SQL transactions none is in use.
  func forgetPages() { sqlite3_db_release_memory(handle) }

  /// Adds an existing file to this reading connection, under the name of a schema.
  ///
  /// - Throws: `LedgerError.io` when the file cannot be opened, otherwise what SQLite reports.
  func attach(_ path: String, _ mode: Mode, as schema: String) throws(LedgerError) {
    try statement("ATTACH ? AS \(schema)").bind(1, Self.uri(path, mode)).run()
    try execute("PRAGMA \(schema).cache_size=-4000")
  }

  /// From now on `julianday('now')` is this moment: the views of a projection take the time from it
  /// alone (sqlite.org/c3ref/create_function.html).
  ///
  /// - Parameter time: milliseconds since 1970.
  /// - Throws: what SQLite reports.
  func setClock(_ time: Int64) throws(LedgerError) {
    let code = sqlite3_create_function_v2(
      handle, "julianday", 1, SQLITE_UTF8 | SQLITE_INNOCUOUS,
      UnsafeMutableRawPointer(bitPattern: Int(time)),
      { context, _, values in
        guard let value = values?[0] else { return }
        if sqlite3_value_text(value).map({ String(cString: $0).lowercased() }) == "now" {
          let time = Double(Int(bitPattern: sqlite3_user_data(context)))
          sqlite3_result_double(context, time / 86_400_000 + 2_440_587.5)
        } else {
          answerAsUsual(context, value)
        }
      }, nil, nil, nil)
    guard code == SQLITE_OK else { throw error(code) }
  }

  /// Runs SQL and ignores the rows it returns: pragmas and schemas.
  ///
  /// - Throws: what SQLite reports.
  package func execute(_ sql: String) throws(LedgerError) {
    let code = sqlite3_exec(handle, sql, nil, nil, nil)
    guard code == SQLITE_OK else { throw error(code) }
  }

  /// The prepared statement for this text. It is prepared once and cached.
  ///
  /// - Throws: what SQLite reports.
  package func statement(_ sql: String) throws(LedgerError) -> Statement {
    let bucket = sql.utf8.count & 255
    // Comparing a literal with itself only compares the address.
    for known in statements[bucket] where known.sql == sql { return known.statement }
    var raw: OpaquePointer?
    let code = sqlite3_prepare_v3(handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &raw, nil)
    guard code == SQLITE_OK, let raw else { throw error(code) }
    let statement = Statement(raw)
    statements[bucket].append((sql, statement))
    return statement
  }

  /// Runs `body` in one SQL transaction. After an error all of it is rolled back.
  ///
  /// - Throws: what SQLite reports, and what `body` throws.
  func atomically<Result>(
    _ body: () throws(LedgerError) -> Result
  ) throws(LedgerError) -> Result {
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

  /// Runs `body` within an SQL transaction; a reason that it returns, or an error, undoes what
  /// `body` wrote, and nothing else.
  ///
  /// - Throws: what `body` throws, and what SQLite reports.
  func undoing<Reason>(
    _ body: () throws(LedgerError) -> Reason?
  ) throws(LedgerError) -> Reason? {
    try statement("SAVEPOINT step").run()
    do {
      let reason = try body()
      if reason != nil { try statement("ROLLBACK TO step").run() }
      try statement("RELEASE step").run()
      return reason
    } catch {
      // Some errors end the transaction, and the savepoint with it.
      if sqlite3_get_autocommit(handle) == 0 {
        try statement("ROLLBACK TO step").run()
        try statement("RELEASE step").run()
      }
      throw error
    }
  }

  /// Rolls back, unless SQLite has already done so, as after some errors
  /// (sqlite.org/lang_transaction.html).
  private func rollBack() {
    if sqlite3_get_autocommit(handle) == 0 { try? statement("ROLLBACK").run() }
  }

  /// Makes the reads that follow see one commit, until `endSnapshot`.
  ///
  /// - Throws: what SQLite reports.
  func beginSnapshot() throws(LedgerError) {
    // Prepared in advance, so that `endSnapshot` cannot fail for lack of memory.
    _ = try statement("ROLLBACK")
    try statement("BEGIN").run()
  }

  func endSnapshot() { rollBack() }

  var lastRowId: Int64 { sqlite3_last_insert_rowid(handle) }

  /// The number of rows that the last statement changed.
  var changes: Int { Int(sqlite3_changes64(handle)) }

  /// The paths of the file and of its -wal, as SQLite opened them.
  var paths: (file: String, wal: String)? {
    guard let name = sqlite3_db_filename(handle, "main"), let wal = sqlite3_filename_wal(name)
    else { return nil }
    return (String(cString: name), String(cString: wal))
  }

  /// The number of pages in the -wal after the last commit of this connection.
  var walPages: Int { Int(pagesInWAL.pointee) }

  /// Copies as much of the -wal into the file as possible without waiting for readers.
  ///
  /// - Throws: what SQLite reports.
  func checkpointPassive() throws(LedgerError) { try checkpoint(SQLITE_CHECKPOINT_PASSIVE) }

  /// The size of the -wal of a file beside the journal, in pages, above which it is copied into the
  /// file: 4 MB. The pages are synced only then, and the writer waits for that.
  private static let checkpointPages = 1_000

  /// Copies the -wal of a file beside the journal into it, if it has grown beyond
  /// `checkpointPages`.
  ///
  /// - Throws: what SQLite reports.
  func checkpointIfNeeded() throws(LedgerError) {
    if walPages > Self.checkpointPages { try checkpointPassive() }
  }

  /// Copies the -wal into the file and truncates it.
  ///
  /// - Throws: `LedgerError.busy` when a reader still uses the -wal after the busy timeout (10 s),
  ///   otherwise what SQLite reports.
  package func checkpointTruncate() throws(LedgerError) {
    try checkpoint(SQLITE_CHECKPOINT_TRUNCATE)
  }

  private func checkpoint(_ kind: Int32) throws(LedgerError) {
    var total: Int32 = 0
    var copied: Int32 = 0
    let code = sqlite3_wal_checkpoint_v2(handle, nil, kind, &total, &copied)
    guard code == SQLITE_OK else { throw error(code) }
    if total == copied { pagesInWAL.pointee = 0 }
  }

  private func error(_ code: Int32) -> LedgerError {
    .of(code, String(cString: sqlite3_errmsg(handle)))
  }
}

/// Answers with the Julian day of another value than 'now', which SQLite tells as text too
/// (sqlite.org/lang_datefunc.html).
private func answerAsUsual(_ context: OpaquePointer?, _ value: OpaquePointer) {
  let database = sqlite3_context_db_handle(context)
  var raw: OpaquePointer?
  let sql = "SELECT CAST(strftime('%J', ?) AS REAL)"
  defer { sqlite3_finalize(raw) }
  guard sqlite3_prepare_v2(database, sql, -1, &raw, nil) == SQLITE_OK,
    sqlite3_bind_value(raw, 1, value) == SQLITE_OK, sqlite3_step(raw) == SQLITE_ROW
  else { return sqlite3_result_error_code(context, sqlite3_errcode(database)) }
  sqlite3_result_value(context, sqlite3_column_value(raw, 0))
}
