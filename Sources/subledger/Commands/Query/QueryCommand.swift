import Glibc
import Ledger
import Platform
import Store

/// `query`: SQL of the user over the views.
enum QueryCommand {
  static let flags: [Command.Flag] = [
    .init("--schema", "describe the views and their columns"), .json,
    .init("--csv", "print CSV with a line of column names; lines end with LF"),
    limit, PastRows.knownAt, PastRows.asOf,
  ]
  static let limit = Command.Flag(
    "--limit-seconds", "N", "stop the query N seconds after its start (30)")

  /// The longest SQL that is read from standard input, in bytes.
  private static let maximumSQL = 1 << 20

  static func run(_ arguments: Arguments) throws(LedgerError) -> ExitCode {
    let seconds = try seconds(arguments)
    if arguments.has("--schema") {
      try arguments.requireNoOperand()
      return try describe(arguments)
    }
    let cancellation = Cancellation()
    _ = Interruption.started(cancellation)
    let sql = try sql(
      try arguments.operand("SQL in quotes, or - for standard input"), cancellation)
    return try read(arguments, "query", seconds, cancellation) {
      (reader, limit) throws(LedgerError) in
      try print(try reader.prepare(sql), limit, arguments)
    }
  }

  /// How long a query may take, once its format is known to be one.
  static func seconds(_ arguments: Arguments) throws(LedgerError) -> Int64 {
    guard !arguments.has("--json") || !arguments.has("--csv") else {
      throw .usage("choose one of --json and --csv")
    }
    return try arguments.number("--limit-seconds", 1...86_400) ?? 30
  }

  /// Reads the folder for as long as a query may take.
  ///
  /// - Parameter name: the command's.
  /// - Throws: what `body` throws.
  static func read(
    _ arguments: Arguments, _ name: String, _ seconds: Int64, _ cancellation: Cancellation,
    _ body: (QueryReader, QueryLimit) throws(LedgerError) -> ExitCode
  ) throws(LedgerError) -> ExitCode {
    guard !cancellation.isRequested else { return .interrupted }
    QueryReader.limitMemory()
    let past = try PastRows(arguments, cancellation)
    let folder = try arguments.readableFolder()
    let limit = limit(name, seconds, cancellation)
    try limit.start()
    defer { limit.end() }
    do throws(LedgerError) {
      let reader = if let past { past.reader } else { try QueryReader.open(folder) }
      if past != nil { try PastProjection.limitKept(folder) }
      return try body(reader, limit)
    } catch {
      throw past?.discarded(after: error) ?? error
    }
  }

  /// Ends the process where an instruction of SQLite takes long, or the output is not read.
  static func limit(
    _ name: String, _ seconds: Int64, _ cancellation: Cancellation
  ) -> QueryLimit {
    QueryLimit(
      seconds: seconds, isInterrupted: { cancellation.isRequested },
      onOverrun: { error in
        Terminal.errorUnlessBlocked("subledger \(name): \(error)")
        _exit(ExitCode.unavailable.rawValue)
      })
  }

  private static func sql(
    _ operand: String, _ cancellation: Cancellation
  ) throws(LedgerError) -> String {
    guard operand == "-" else { return operand }
    var bytes: [UInt8] = []
    let input = try LineReader(
      path: "-", maximum: maximumSQL, cancellation: cancellation)
    while bytes.count <= maximumSQL, let line = try input.next() { bytes += line + [0x0A] }
    guard bytes.count <= maximumSQL else { throw .usage("SQL has at most \(maximumSQL) bytes") }
    return String(decoding: bytes, as: UTF8.self)
  }

  // MARK: Output

  /// Prints all rows that were read, also when the query fails later.
  ///
  /// - Throws: what the query throws.
  static func print(
    _ query: Query, _ limit: QueryLimit, _ arguments: Arguments
  ) throws(LedgerError) -> ExitCode {
    let format = try format(arguments, query.columns)
    guard var lines = format.map({ QueryLines($0, query.columns) }) else {
      try printTable(query, limit)
      return .good
    }
    defer { lines.flush() }
    try query.run(limit) { row in
      lines.add(row)
      return true
    }
    return .good
  }

  private static func printTable(_ query: Query, _ limit: QueryLimit) throws(LedgerError) {
    var table = QueryTable(query.columns)
    try query.run(limit) { table.add($0) }
    table.print()
    if table.isCut {
      Terminal.error("there are more rows than a table holds; --csv prints all of them")
    }
  }

  /// The format of lines; nil for a table.
  private static func format(
    _ arguments: Arguments, _ columns: [String]
  ) throws(LedgerError) -> QueryLines.Format? {
    if arguments.has("--csv") { return .csv }
    guard arguments.has("--json") else { return nil }
    for (index, name) in columns.enumerated() where columns[..<index].contains(name) {
      throw .usage("two columns are called '\(name)'; rename one with AS for --json")
    }
    return .json
  }

  // MARK: Schema

  private static func describe(_ arguments: Arguments) throws(LedgerError) -> ExitCode {
    let names = ["view", "column", "type", "meaning"]
    guard let format = try format(arguments, names) else {
      Terminal.print(schemaText)
      return .good
    }
    var lines = QueryLines(format, names)
    for view in SQLView.all {
      for column in view.columns {
        lines.add([
          .text(view.name), .text(column.name), .text(column.type.rawValue), .text(column.meaning),
        ])
      }
    }
    lines.flush()
    return .good
  }

  private static var schemaText: String {
    var lines = TextWrapper()
    lines.add(
      "Names that end in _ms are milliseconds since 1970 UTC. A row of entitlement_v1 or "
        + "entitlement_span_v1 belongs to the events of journal_v1 with the same environment, "
        + "bundle_id and original_transaction_id.")
    for view in SQLView.all {
      lines.addBlank()
      lines.add("\(view.name): \(view.meaning)")
      for column in view.columns {
        lines.add(
          column.name.padded(to: 26) + column.type.rawValue.padded(to: 9) + column.meaning,
          indent: 2, hanging: 37)
      }
    }
    return lines.text
  }
}
