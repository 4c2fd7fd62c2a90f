import CSQLite
public import Platform
import Synchronization

/// Runs SQL of the user over the views of a folder, with or without a running daemon. Use one per
/// thread.
///
/// One connection has the journal and the live projection attached, both read-only, so that one
/// statement can join them. It creates no file if no process holds the folder and there is no -wal.
public final class QueryReader {
  let connection: SQLiteConnection
  private let authorizer: QueryAuthorizer
  /// Views of files that are not there, in lower case.
  private let missingViews: Set<String>
  /// The files that are read as files at rest, as they were before they were opened.
  private let atRest: [(path: String, identity: FileIdentity)]

  /// The longest text or blob that a query may make, in bytes: longer than any that is stored.
  private static let maximumLength: Int32 = 16 << 20
  /// The texts and blobs of a row that a query returns, in bytes.
  static let maximumRow = 16 << 20
  /// What SQLite may hold after `limitMemory`, in bytes.
  static let maximumMemory: Int64 = 128 << 20

  /// Limits the memory of SQLite in this process, for which it counts its memory: for a process
  /// that runs a query and nothing else. Call it before any file is opened.
  public static func limitMemory() {
    SQLiteConnection.heapLimit.store(maximumMemory, ordering: .relaxed)
  }

  /// Opens the journal of a folder, and its live projection if there is one.
  ///
  /// - Throws: `LedgerError.foreign` when there is no journal, `.newer` when a schema is newer,
  ///   otherwise what SQLite or the file system reports.
  public static func open(_ folder: DataFolder) throws(LedgerError) -> QueryReader {
    try folder.requireJournal()
    let connection = try SQLiteConnection.open(":memory:", .read)
    // What does not fit is sorted and collected on the disk (sqlite.org/tempfiles.html). This
    // removes temporary views.
    try connection.execute("PRAGMA temp_store=FILE")
    var files = QueryFiles(folder, connection)
    try files.attachJournal()
    try files.attachProjection()
    try files.attachCustomers()
    return try QueryReader(files)
  }

  private init(_ files: QueryFiles) throws(LedgerError) {
    connection = files.connection
    atRest = files.atRest
    let handle = connection.handle
    sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, Self.maximumLength)
    let tables = try files.tables()
    let present = SQLView.all.filter { view in
      tables.contains { $0.schema == view.schema && $0.name == view.name }
    }
    missingViews = Set(SQLView.all.map(\.name)).subtracting(present.map(\.name))
    authorizer = QueryAuthorizer(
      views: Set(present.map(\.name)), tables: Set(tables.map(\.name)))
    authorizer.attach(to: handle)
    try authorizer.learn { () throws(LedgerError) in
      for view in present {
        // That of the connection itself, where it has one.
        _ = try connection.statement("SELECT * FROM \(view.name)")
      }
    }
  }

  /// Checks and prepares one statement.
  ///
  /// - Throws: `LedgerError.usage` for wrong SQL, for more than one statement, and for anything
  ///   but a SELECT over the views; `.missing` when it reads a view of a missing projection;
  ///   `.store` for what SQLite reports of the files.
  public func prepare(_ sql: String) throws(LedgerError) -> Query {
    let tokens = SQLTokens(sql)
    guard !tokens.isBlank else { throw .usage("there is no SQL to run") }
    guard !sql.utf8.contains(0) else { throw .usage("the SQL contains a zero byte") }
    if let name = tokens.definition(of: authorizer.reservedNames) {
      throw .usage("WITH must not define '\(name)'; choose another name")
    }
    authorizer.begin(tokens.names)
    var raw: OpaquePointer?
    var tail = ""
    let code = sql.withCString { text in
      var end: UnsafePointer<CChar>?
      let code = sqlite3_prepare_v3(connection.handle, text, -1, 0, &raw, &end)
      tail = end.map { String(cString: $0) } ?? ""
      return code
    }
    guard code == SQLITE_OK else { throw error(code) }
    guard let raw else { throw .usage("there is no SQL before the first semicolon") }
    let query = Query(self, raw)
    guard SQLTokens(tail).isBlank else {
      throw .usage("only one statement is run; there is text after it")
    }
    // What the authorizer is not asked about: EXPLAIN, and VACUUM before it runs.
    guard sqlite3_stmt_isexplain(raw) == 0, sqlite3_stmt_readonly(raw) != 0,
      !query.columns.isEmpty
    else { throw .usage(QueryAuthorizer.selectAlone) }
    guard sqlite3_bind_parameter_count(raw) == 0 else {
      throw .usage("parameters such as ? and :name have no value here; write the values")
    }
    return query
  }

  /// The error for a result code of the last call: the user's, or that of the files.
  func error(_ code: Int32) -> LedgerError {
    let message = String(cString: sqlite3_errmsg(connection.handle))
    switch code & 0xFF {
    case SQLITE_NOMEM: return .memoryLimit
    case SQLITE_IOERR where code == Self.noMemoryForPages: return .memoryLimit
    case SQLITE_ERROR, SQLITE_AUTH, SQLITE_TOOBIG, SQLITE_MISMATCH, SQLITE_RANGE,
      SQLITE_CONSTRAINT:
      if let view = missingView(message) { return .missing(view: view) }
      if let refusal = authorizer.refusal { return .usage(refusal) }
      if message.hasPrefix("cannot modify") { return .usage(QueryAuthorizer.selectAlone) }
      let hint = message.hasPrefix("no such table") ? "; a query reads \(SQLView.nameList)" : ""
      return .usage(message + hint)
    default: return .of(code, message)
    }
  }

  /// SQLITE_IOERR_NOMEM (sqlite.org/rescode.html).
  private static let noMemoryForPages: Int32 = 10 | 12 << 8

  /// The view of a missing projection that SQLite did not find.
  private func missingView(_ message: String) -> String? {
    let prefix = "no such table: "
    guard message.hasPrefix(prefix) else { return nil }
    let name = SQLTokens.lowercased(String(message.dropFirst(prefix.count)))
    return missingViews.first { name == $0 || name.hasSuffix("." + $0) }
  }

  /// Throws `LedgerError.filesChanged` when a file that is read as a file at rest has changed.
  func requireUnchangedFiles() throws(LedgerError) {
    for file in atRest {
      guard (try? FileIdentity.of(file.path)) == file.identity else { throw .filesChanged }
    }
  }
}
