import CSQLite
public import Platform
import Synchronization

/// Runs SQL of the user over the views of a folder, with or without a running daemon. Use one per
/// thread.
///
/// One connection has the journal and the live projection attached, both read-only, so that one
/// statement can join them. It creates no file if no process holds the folder and there is no -wal.
///
/// A statement is prepared twice, first in a database that has the names of the views and of their
/// columns, and nothing else. There SQLite itself finds that a table is named, in whatever
/// spelling, quotes or WITH clause; so the same text can name none in the files either.
public final class QueryReader {
  let connection: SQLiteConnection
  /// What a statement may name.
  private let names: SQLiteConnection
  /// Views of files that are not there, in lower case.
  private let missingViews: Set<String>
  /// Those of them that no file of the past has.
  private let viewsOfNow: Set<String>
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

  /// What is read in place of the live projection.
  public struct Past: Sendable {
    public let path: String
    let seq: Int64
    let knownAt: Int64
    let asOf: Int64

    /// - Parameters:
    ///   - path: of a projection of all events up to `seq`.
    ///   - knownAt: by when these had been received, milliseconds since 1970.
    ///   - asOf: the present of the views, milliseconds since 1970.
    public init(path: String, through seq: Int64, knownAt: Int64, asOf: Int64) {
      (self.path, self.seq, self.knownAt, self.asOf) = (path, seq, knownAt, asOf)
    }
  }

  /// Opens the journal of a folder, and its live projection if there is one.
  ///
  /// - Parameter past: a projection of the past; then `journal_v1` ends with it, and the views that
  ///   are of now alone are not there.
  /// - Throws: `LedgerError.foreign` when there is no journal, `.newer` when a schema is newer,
  ///   otherwise what SQLite or the file system reports.
  public static func open(
    _ folder: DataFolder, past: Past? = nil
  ) throws(LedgerError) -> QueryReader {
    try folder.requireJournal()
    let connection = try SQLiteConnection.open(":memory:", .read)
    // What does not fit is sorted and collected on the disk (sqlite.org/tempfiles.html). This
    // removes temporary views.
    try connection.execute("PRAGMA temp_store=FILE")
    var files = QueryFiles(folder, connection)
    try files.attachJournal()
    if let past {
      try files.attach(past: past)
    } else {
      try files.attachProjection()
      try files.attachCustomers()
    }
    return try QueryReader(files, SQLView.all.compactMap { past == nil ? $0 : $0.ofThePast })
  }

  private init(_ files: QueryFiles, _ views: [SQLView]) throws(LedgerError) {
    connection = files.connection
    atRest = files.atRest
    sqlite3_limit(connection.handle, SQLITE_LIMIT_LENGTH, Self.maximumLength)
    let tables = try files.tables()
    let present = views.filter { view in
      tables.contains { $0.schema == view.schema && $0.name == view.name }
    }
    viewsOfNow = Set(SQLView.all.map(\.name)).subtracting(views.map(\.name))
    missingViews = Set(SQLView.all.map(\.name)).subtracting(present.map(\.name))
    names = try Self.names(of: present, connection)
  }

  private static func names(
    of views: [SQLView], _ connection: SQLiteConnection
  ) throws(LedgerError) -> SQLiteConnection {
    let names = try SQLiteConnection.open(":memory:", .copy)
    for schema in Set(views.map(\.schema)) where schema != SQLView.temporarySchema {
      try names.statement("ATTACH ':memory:' AS \(schema)").run()
    }
    for view in views {
      // That of the connection itself, where it has one.
      let columns = try connection.statement("SELECT * FROM \(view.name)").columnNames
        .map { "NULL AS \"\($0)\"" }.joined(separator: ", ")
      try names.statement("CREATE VIEW \(view.schema).\(view.name) AS SELECT \(columns)").run()
    }
    QueryAuthorizer.attach(to: names)
    return names
  }

  /// As `JournalReader.ask`.
  public func ask(_ limit: WorkLimit) { connection.ask(limit) }

  /// Checks and prepares one statement.
  ///
  /// - Throws: `LedgerError.usage` for wrong SQL, for more than one statement, and for anything
  ///   but a SELECT over the views; `.missing` when it reads a view of a missing projection;
  ///   `.store` for what SQLite reports of the files.
  public func prepare(_ sql: String) throws(LedgerError) -> Query {
    guard !sql.utf8.contains(0) else { throw .usage("the SQL contains a zero byte") }
    try check(sql)
    return try prepare(trusted: sql)
  }

  /// Prepares one statement that is ours.
  func prepare(trusted sql: String) throws(LedgerError) -> Query {
    guard let raw = try compile(sql, connection).raw else {
      throw .usage("there is no SQL to run")
    }
    return Query(self, raw)
  }

  private func check(_ sql: String) throws(LedgerError) {
    let (raw, tail) = try compile(sql, names)
    defer { sqlite3_finalize(raw) }
    guard let raw else { return }
    let rest = try? compile(tail, names)
    defer { sqlite3_finalize(rest?.raw) }
    guard let rest, rest.raw == nil else {
      throw .usage("only one statement is run; there is text after it")
    }
    // What the authorizer is not asked about: EXPLAIN, VACUUM before it runs, and REINDEX where
    // there is no index.
    guard sqlite3_stmt_isexplain(raw) == 0, sqlite3_stmt_readonly(raw) != 0,
      sqlite3_column_count(raw) > 0
    else { throw .usage(Self.selectAlone) }
    guard sqlite3_bind_parameter_count(raw) == 0 else {
      throw .usage("parameters such as ? and :name have no value here; write the values")
    }
  }

  /// - Returns: the first statement, nil for none, and the text after it.
  private func compile(
    _ sql: String, _ connection: SQLiteConnection
  ) throws(LedgerError) -> (raw: OpaquePointer?, tail: String) {
    var raw: OpaquePointer?
    var tail = ""
    let code = sql.withCString { text in
      var end: UnsafePointer<CChar>?
      let code = sqlite3_prepare_v3(connection.handle, text, -1, 0, &raw, &end)
      tail = end.map { String(cString: $0) } ?? ""
      return code
    }
    guard code == SQLITE_OK else { throw error(code, connection) }
    return (raw, tail)
  }

  private static let selectAlone =
    "only SELECT is allowed: it reads \(SQLView.nameList), and changes nothing"

  /// How SQLite begins what it says of all else.
  private static let refusals = [
    "no such table", "not authorized", "access to", "cannot modify", "vtable constructor failed",
  ]

  /// The error for a result code of the last call: the user's, or that of the files.
  func error(_ code: Int32, _ connection: SQLiteConnection) -> LedgerError {
    let message = String(cString: sqlite3_errmsg(connection.handle))
    switch code & 0xFF {
    case SQLITE_NOMEM: return .memoryLimit
    case SQLITE_IOERR where code == Self.noMemoryForPages: return .memoryLimit
    case SQLITE_ERROR, SQLITE_AUTH, SQLITE_TOOBIG, SQLITE_MISMATCH, SQLITE_RANGE,
      SQLITE_CONSTRAINT:
      if let view = missingView(message) {
        return viewsOfNow.contains(view) ? .ofNow(view: view) : .missing(view: view)
      }
      let isRefused = Self.refusals.contains { message.hasPrefix($0) }
      return .usage(isRefused ? "\(message); \(Self.selectAlone)" : message)
    default: return .of(code, message)
    }
  }

  /// SQLITE_IOERR_NOMEM (sqlite.org/rescode.html).
  private static let noMemoryForPages: Int32 = 10 | 12 << 8

  /// The view of a missing projection that SQLite did not find.
  private func missingView(_ message: String) -> String? {
    let prefix = "no such table: "
    guard message.hasPrefix(prefix) else { return nil }
    let name = message.dropFirst(prefix.count).lowercased()
    return missingViews.first { name == $0 || name.hasSuffix("." + $0) }
  }

  /// Throws `LedgerError.filesChanged` when a file that is read as a file at rest has changed.
  func requireUnchangedFiles() throws(LedgerError) {
    for file in atRest {
      guard (try? FileIdentity.of(file.path)) == file.identity else { throw .filesChanged }
    }
  }
}
