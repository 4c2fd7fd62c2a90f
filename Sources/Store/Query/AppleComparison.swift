public import Platform

/// Compares what Apple's reports say with what the projection knows, in tables that the connection
/// of the reader makes for itself. No unit counts twice: the sums of all lines are those of both
/// sides. The SQL is in `Comparison`.
public struct AppleComparison {
  /// Why both sides differ; the guide's page about finance says what each means.
  public static let reasons = [
    "not yet settled", "not collected", "later day", "price rounding", "not in notifications",
    "not in the file's days", "unexplained",
  ]

  private let reader: QueryReader
  private let limit: QueryLimit

  /// - Parameter limit: holds from now on; it is started.
  /// - Throws: what SQLite reports.
  public init(_ reader: QueryReader, _ limit: QueryLimit) throws(LedgerError) {
    (self.reader, self.limit) = (reader, limit)
    // Where no rows were built yet, this says so.
    _ = try reader.prepare(trusted: "SELECT 1 FROM transaction_v1")
    limit.attach(to: reader.connection.handle)
    try execute("PRAGMA query_only=OFF")
    try execute(Self.text(PackageResources.compare_tables_sql))
  }

  private static func text(_ file: [UInt8]) -> String { String(decoding: file, as: UTF8.self) }

  private func execute(_ sql: String) throws(LedgerError) {
    do throws(LedgerError) { try reader.connection.execute(sql) } catch {
      throw limit.reason ?? error
    }
  }

  /// Adds a row of a report.
  ///
  /// - Throws: what SQLite reports.
  public func add(_ row: AppleReport.Row) throws(LedgerError) {
    try reader.connection.statement("INSERT INTO reported_row VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)")
      .bind(1, row.kind.rawValue).bind(2, row.days.lowerBound).bind(3, row.days.upperBound)
      .bind(4, row.product).bind(5, row.country).bind(6, row.currency)
      .bind(7, row.isReturn ? 1 : 0).bind(8, row.price).bind(9, row.units).run()
  }

  /// Adds the days of a report.
  ///
  /// - Throws: `LedgerError.usage` if another one has one of them; what SQLite reports.
  public func add(_ report: AppleReport) throws(LedgerError) {
    for (day, first) in report.days {
      try reader.connection.statement(
        "INSERT INTO reported_day VALUES (?, ?, ?, 1) ON CONFLICT DO NOTHING"
      ).bind(1, report.kind?.rawValue).bind(2, day).bind(3, first).run()
      guard reader.connection.changes == 1 else {
        throw .usage("\(report.path) has days of another file; give the newer of the two alone")
      }
    }
  }

  /// Compares, after all reports were added.
  ///
  /// - Returns: how many lines are unexplained.
  /// - Throws: what SQLite reports, and as `Query.run`.
  public func run() throws(LedgerError) -> Int {
    try execute(Self.text(PackageResources.compare_charges_sql))
    for pass in 1...7 {
      try execute(
        Self.text(PackageResources.compare_pass_sql).replacing("{pass}", with: String(pass)))
    }
    try execute(Self.text(PackageResources.compare_lines_sql))
    try reader.requireUnchangedFiles()
    return try reader.connection.statement("SELECT sum(reason IS 'unexplained') FROM line")
      .first { Int($0.int(0)) } ?? 0
  }

  /// The lines of the answer.
  ///
  /// - Parameters:
  ///   - reason: of these lines alone; nil for all.
  ///   - withPurchases: with the purchases behind them. Where only some purchases of a key have a
  ///     reason, it is not known which, and all are named.
  /// - Throws: what SQLite reports.
  public func lines(_ reason: String?, withPurchases: Bool) throws(LedgerError) -> Query {
    try reader.prepare(
      trusted: Self.text(PackageResources.compare_answer_sql)
        .replacing("{only}", with: reason.map(Report.literal) ?? "reason")
        .replacing(
          "{more}", with: withPurchases ? ", transaction_ids, first_seq, last_seq" : ""))
  }

  /// The sums by report, currency and reason.
  ///
  /// - Throws: what SQLite reports.
  public func totals() throws(LedgerError) -> Query {
    try reader.prepare(trusted: Self.text(PackageResources.compare_totals_sql))
  }
}
