import CSQLite

/// What SQLite may do for a statement of the user (sqlite.org/c3ref/set_authorizer.html).
enum QueryAuthorizer {
  /// Functions that reach outside the query: into libraries, tokenizers, the error log and tables
  /// that are named in a text.
  private static let refusedFunctions: Set = [
    "load_extension", "fts3_tokenizer", "sqlite_log", "rtreecheck",
  ]

  /// From now on all but SELECT is refused here, and reading SQLite's own tables. SQLite declares a
  /// table-valued function in one of these, so that functions of this kind are refused too.
  static func attach(to connection: SQLiteConnection) {
    sqlite3_set_authorizer(
      connection.handle,
      { _, action, first, second, _, _ in
        QueryAuthorizer.allows(action, name(first), name(second)) ? SQLITE_OK : SQLITE_DENY
      }, nil)
  }

  private static func allows(_ action: Int32, _ first: String, _ second: String) -> Bool {
    switch action {
    case SQLITE_SELECT, SQLITE_RECURSIVE: true
    case SQLITE_READ: !first.hasPrefix("sqlite_")
    case SQLITE_FUNCTION: !refusedFunctions.contains(second)
    default: false
    }
  }
}

/// A name that SQLite passes, in lower case; empty for a null pointer.
private func name(_ pointer: UnsafePointer<CChar>?) -> String {
  pointer.map { String(cString: $0).lowercased() } ?? ""
}
