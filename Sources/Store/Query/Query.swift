import CSQLite
public import Platform

/// One statement of the user, checked and prepared.
public final class Query {
  /// The names of the columns of the result.
  public let columns: [String]
  private let reader: QueryReader
  private let statement: Statement
  private let raw: OpaquePointer

  init(_ reader: QueryReader, _ raw: OpaquePointer) {
    self.reader = reader
    self.raw = raw
    statement = Statement(raw)
    columns = statement.columnNames
  }

  /// Gives a parameter of the statement, such as `:day`, its value; none of that name is left out.
  func bind(_ name: String, _ value: String) {
    let index = sqlite3_bind_parameter_index(raw, name)
    if index > 0 { statement.bind(index, value) }
  }

  /// Runs the query and calls `row` with the values of each row, in the order of `columns`, until
  /// it returns false. All rows of one file are of one commit.
  ///
  /// - Parameter limit: ends with the query; nil where the reader is asked.
  /// - Throws: `LedgerError.timeLimit` and `.stopped` as `limit` says, `.memoryLimit` for a row
  ///   that is too long and where SQLite got no memory, `.refused` for an error of the SQL that
  ///   only its run shows, such as an integer overflow, `.filesChanged` when the rows may be of
  ///   several commits, and `.store` for what SQLite reports of the files.
  public func run(
    _ limit: QueryLimit?, _ row: ([QueryValue]) -> Bool
  ) throws(LedgerError) {
    try limit?.start()
    limit?.attach(to: reader.connection.handle)
    defer {
      limit?.end()
      sqlite3_reset(raw)
    }
    let indexes = 0..<Int32(columns.count)
    while true {
      if let reason = limit?.reason { throw reason }
      let code = sqlite3_step(raw)
      guard code == SQLITE_ROW else {
        if let reason = limit?.reason { throw reason }
        try reader.requireUnchangedFiles()
        if code == SQLITE_DONE { return }
        throw reader.error(code, reader.connection)
      }
      guard indexes.reduce(0, { $0 + statement.length($1) }) <= QueryReader.maximumRow else {
        throw .memoryLimit
      }
      guard row(indexes.map(statement.value)) else { return try reader.requireUnchangedFiles() }
    }
  }
}
