import CSQLite
import Platform

/// Decides, while SQLite prepares a statement, what the statement may do (sqlite3_set_authorizer):
/// SELECT alone, and of the data only what the views show.
///
/// SQLite names the innermost view, or the innermost name of a WITH clause, through which a column
/// is read. A table may therefore be read exactly where a view itself reads it: `learn` records
/// these reads before the first query.
final class QueryAuthorizer {
  private struct Read: Hashable {
    let table: String
    let column: String
    let database: String
    let context: String
  }

  /// Views that a query may read, in lower case.
  private let views: Set<String>
  /// The tables and views of the attached files, in lower case.
  private let tables: Set<String>
  private var allowedReads: Set<Read> = []
  private var isLearning = false
  /// The names that occur in the SQL of the user.
  private var names: Set<String> = []
  /// The first refusal since `begin`, for the user.
  private(set) var refusal: String?

  init(views: Set<String>, tables: Set<String>) {
    self.views = views
    self.tables = tables
  }

  /// Names that a WITH clause must not define, because reads through them are allowed.
  var reservedNames: Set<String> { Set(allowedReads.map(\.context)).union(views) }

  /// Makes SQLite ask this authorizer. It must exist as long as the connection.
  func attach(to handle: OpaquePointer) {
    sqlite3_set_authorizer(
      handle,
      { context, action, first, second, database, view in
        guard let context else { return SQLITE_DENY }
        return Unmanaged<QueryAuthorizer>.fromOpaque(context).takeUnretainedValue()
          .judge(action, text(first), text(second), text(database), text(view))
      }, Unmanaged.passUnretained(self).toOpaque())
  }

  /// Records what the views read, for statements that `body` prepares. They must not be of a user.
  func learn(_ body: () throws(LedgerError) -> Void) throws(LedgerError) {
    isLearning = true
    defer { isLearning = false }
    try body()
  }

  /// Begins the judgement of a statement in which these names occur.
  func begin(_ names: Set<String>) {
    self.names = names
    refusal = nil
  }

  private func judge(
    _ action: Int32, _ first: String, _ second: String, _ database: String, _ context: String
  ) -> Int32 {
    let reason: String? =
      switch action {
      case SQLITE_SELECT, SQLITE_RECURSIVE: nil
      case SQLITE_READ: judgeRead(first, second, database, context)
      case SQLITE_FUNCTION: judgeFunction(SQLTokens.lowercased(second))
      // SQLite declares the columns of a virtual table in this way.
      case SQLITE_UPDATE where SQLTokens.lowercased(first).hasPrefix("sqlite_"):
        "only views can be read, no table-valued function"
      default: Self.selectAlone
      }
    guard let reason, !isLearning else { return SQLITE_OK }
    if refusal == nil { refusal = reason }
    return SQLITE_DENY
  }

  private func judgeRead(
    _ table: String, _ column: String, _ database: String, _ context: String
  ) -> String? {
    let read = Read(
      table: SQLTokens.lowercased(table), column: SQLTokens.lowercased(column),
      database: database, context: SQLTokens.lowercased(context))
    if isLearning {
      if !read.context.isEmpty { allowedReads.insert(read) }
      return nil
    }
    if views.contains(read.table) || allowedReads.contains(read) { return nil }
    if read.column.isEmpty, mayCount(read) { return nil }
    return "'\(table)' cannot be read; a query reads \(SQLView.nameList) alone"
  }

  /// Without a column only the number of rows is read. SQLite then names neither the file nor,
  /// where it has merged a view into the query, the view: but a query that reads a table directly
  /// must name it. Any other name is of a WITH clause.
  private func mayCount(_ read: Read) -> Bool {
    if read.table.hasPrefix("sqlite_") || read.table.hasPrefix("pragma_") { return false }
    return !tables.contains(read.table) || !names.contains(read.table)
      || allowedReads.contains { $0.table == read.table && $0.context == read.context }
  }

  private func judgeFunction(_ name: String) -> String? {
    Self.refusedFunctions.contains(name) ? "the function \(name) is not allowed" : nil
  }

  static let selectAlone = "only SELECT is allowed: a query reads and changes nothing"

  /// Functions that reach outside the query: into libraries, tokenizers and the error log.
  private static let refusedFunctions: Set = ["load_extension", "fts3_tokenizer", "sqlite_log"]
}

/// The text of a name that SQLite passes; empty for a null pointer.
private func text(_ pointer: UnsafePointer<CChar>?) -> String {
  pointer.map { String(cString: $0) } ?? ""
}
