import CSQLite
package import Platform

/// One prepared statement. Parameters count from 1, columns from 0, as in SQLite.
///
/// Every value from outside is a bound parameter, never part of the SQL text.
package final class Statement {
  private let raw: OpaquePointer
  private var bindFailure: Int32 = SQLITE_OK

  init(_ raw: OpaquePointer) { self.raw = raw }

  deinit { sqlite3_finalize(raw) }

  @discardableResult
  package func bind(_ index: Int32, _ value: Int64?) -> Statement {
    recordFailure(value.map { sqlite3_bind_int64(raw, index, $0) } ?? sqlite3_bind_null(raw, index))
  }

  @discardableResult
  package func bind(_ index: Int32, _ value: String?) -> Statement {
    guard var value else { return recordFailure(sqlite3_bind_null(raw, index)) }
    return recordFailure(
      value.withUTF8 { utf8 in
        utf8.withMemoryRebound(to: CChar.self) {
          sqlite3_bind_text64(
            raw, index, $0.baseAddress ?? Self.nothing, UInt64($0.count),
            subledger_sqlite_transient(), UInt8(SQLITE_UTF8))
        }
      })
  }

  @discardableResult
  package func bind(_ index: Int32, _ value: [UInt8]?) -> Statement {
    guard let value else { return recordFailure(sqlite3_bind_null(raw, index)) }
    guard !value.isEmpty else { return recordFailure(sqlite3_bind_zeroblob(raw, index, 0)) }
    return recordFailure(
      value.withUnsafeBytes {
        sqlite3_bind_blob64(
          raw, index, $0.baseAddress, UInt64($0.count), subledger_sqlite_transient())
      })
  }

  /// The address of an empty text, because a null pointer would bind NULL.
  nonisolated(unsafe) private static let nothing: UnsafePointer<CChar> = {
    let byte = UnsafeMutablePointer<CChar>.allocate(capacity: 1)
    byte.initialize(to: 0)
    return UnsafePointer(byte)
  }()

  /// Keeps the result code of a binding, which the next step throws.
  private func recordFailure(_ code: Int32) -> Statement {
    if code != SQLITE_OK { bindFailure = code }
    return self
  }

  /// Runs to the end and ignores the rows.
  ///
  /// - Throws: what SQLite reports.
  package func run() throws(LedgerError) {
    defer { reset() }
    while try step() {}
  }

  /// Reads the first row. Returns nil if there is none.
  ///
  /// - Throws: what SQLite reports, and what `read` throws.
  package func first<Result>(
    _ read: (Statement) throws(LedgerError) -> Result
  ) throws(LedgerError) -> Result? {
    defer { reset() }
    return try step() ? try read(self) : nil
  }

  /// Reads rows until `read` returns false.
  ///
  /// - Throws: what SQLite reports, and what `read` throws.
  func forEach(_ read: (Statement) throws(LedgerError) -> Bool) throws(LedgerError) {
    defer { reset() }
    while try step() {
      guard try read(self) else { return }
    }
  }

  /// Reads all rows.
  ///
  /// - Throws: what SQLite reports, and what `read` throws.
  package func all<Element>(
    _ read: (Statement) throws(LedgerError) -> Element
  ) throws(LedgerError) -> [Element] {
    defer { reset() }
    var rows: [Element] = []
    while try step() { rows.append(try read(self)) }
    return rows
  }

  private func step() throws(LedgerError) -> Bool {
    guard bindFailure == SQLITE_OK else { throw .of(bindFailure, "could not bind a parameter") }
    let code = sqlite3_step(raw)
    switch code {
    case SQLITE_ROW: return true
    case SQLITE_DONE: return false
    default: throw .of(code, String(cString: sqlite3_errmsg(sqlite3_db_handle(raw))))
    }
  }

  /// Also ends the read transaction of a statement that has rows left.
  private func reset() {
    sqlite3_reset(raw)
    bindFailure = SQLITE_OK
  }

  // MARK: Columns

  /// A value is looked up once for its type and content: every `sqlite3_column_…` costs more than
  /// reading the value. "Unprotected", as one thread uses a connection (c3ref/column_blob.html).
  private func raw(_ column: Int32) -> OpaquePointer? { sqlite3_column_value(raw, column) }

  package func int(_ column: Int32) -> Int64 { sqlite3_column_int64(raw, column) }

  func optionalInt(_ column: Int32) -> Int64? {
    let value = raw(column)
    return sqlite3_value_type(value) == SQLITE_NULL ? nil : sqlite3_value_int64(value)
  }

  package func text(_ column: Int32) -> String { Self.text(raw(column)) }

  func optionalText(_ column: Int32) -> String? {
    let value = raw(column)
    return sqlite3_value_type(value) == SQLITE_NULL ? nil : Self.text(value)
  }

  private static func text(_ value: OpaquePointer?) -> String {
    guard let start = sqlite3_value_text(value) else { return "" }
    let count = Int(sqlite3_value_bytes(value))
    return String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
  }

  package func bytes(_ column: Int32) -> [UInt8] { withBytes(column) { Array($0) } }

  func optionalBytes(_ column: Int32) -> [UInt8]? { isNull(column) ? nil : bytes(column) }

  /// Calls `body` with the bytes of a blob, which are valid until the next step.
  func withBytes<Result>(_ column: Int32, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    let value = raw(column)
    let start = sqlite3_value_blob(value)
    let count = start == nil ? 0 : Int(sqlite3_value_bytes(value))
    return body(UnsafeRawBufferPointer(start: start, count: count))
  }

  func isNull(_ column: Int32) -> Bool { sqlite3_column_type(raw, column) == SQLITE_NULL }

  func isText(_ column: Int32) -> Bool { sqlite3_column_type(raw, column) == SQLITE_TEXT }

  func isBlob(_ column: Int32) -> Bool { sqlite3_column_type(raw, column) == SQLITE_BLOB }

  /// Adds a value to a checksum as a `ColumnSink` adds it that was written.
  func add(_ column: Int32, to sum: inout Checksum) {
    let value = raw(column)
    switch sqlite3_value_type(value) {
    case SQLITE_INTEGER: sum.add(sqlite3_value_int64(value))
    case SQLITE_NULL: sum.add(nil as Int64?)
    default:
      let start = sqlite3_value_blob(value)
      let count = start == nil ? 0 : Int(sqlite3_value_bytes(value))
      sum.add(UnsafeRawBufferPointer(start: start, count: count))
    }
  }

  /// The names of the columns of the result, in their order.
  var columnNames: [String] {
    (0..<sqlite3_column_count(raw)).map { column in
      sqlite3_column_name(raw, column).map { String(cString: $0) } ?? ""
    }
  }

  /// The bytes of a text or a blob, without a copy of it; 0 for any other value.
  func length(_ column: Int32) -> Int {
    isText(column) || isBlob(column) ? Int(sqlite3_column_bytes(raw, column)) : 0
  }

  /// The value of a column whose type is not known in advance.
  func value(_ column: Int32) -> QueryValue {
    switch sqlite3_column_type(raw, column) {
    case SQLITE_INTEGER: .integer(int(column))
    case SQLITE_FLOAT: .real(sqlite3_column_double(raw, column))
    case SQLITE_TEXT: .text(text(column))
    case SQLITE_BLOB: .blob(bytes(column))
    default: .null
    }
  }
}
