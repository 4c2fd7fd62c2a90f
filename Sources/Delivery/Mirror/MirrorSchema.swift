import Entitlements
import Migrations

/// The tables of a mirror, as its owner makes them. The daemon's role may only write into them.
public enum MirrorSchema {
  /// What the tables are like that this program makes. Into those of an older layout it writes what
  /// they have.
  static let layout = max(requests, RowField.all.map(\.mirrorLayout).max() ?? 1)
  /// The first layout that has what customers have by name.
  static let customers: Int64 = 3
  /// The first layout that has purchases.
  static let transactions: Int64 = 4
  /// The first layout that has requests for refunds.
  static let requests: Int64 = 7

  /// The SQL for the owner of the schema to run.
  ///
  /// - Parameters:
  ///   - schema: its name, as configured.
  ///   - role: who writes: it gets no right to change tables; nil for the owner.
  public static func sql(_ schema: String, role: String?) -> String {
    let text = Migrations.mirror([
      ("{query now()}", query(at: "now()")), ("{query moment}", query(at: "moment")),
      ("{row_columns}", definitions(.row)), ("{span_columns}", definitions(.span)),
      ("{later_columns}", later),
      ("{line_columns}", definitions(lineFields(1))), ("{line_view}", view(TransactionField.all)),
      ("{line_comments}", comments("transaction_v1", TransactionField.all)),
      ("{request_columns}", definitions(RefundField.all)),
      ("{request_view}", view(RefundField.all, requestExpressions)),
      ("{request_comments}", comments("refund_request_v1", RefundField.all)),
      ("{row_comments}", rowComments),
      ("{all_dates}", times.map { "\(dateName($0)) timestamptz" }.joined(separator: ",\n  ")),
      ("{all_columns}", RowField.all.map(column).joined(separator: ",\n  ")),
      ("{schema}", quoted(schema)), ("{layout}", "\(layout)"),
    ])
    guard let role else { return text }
    return text + """

      GRANT USAGE ON SCHEMA \(quoted(schema)) TO \(quoted(role));
      GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA \(quoted(schema))
        TO \(quoted(role));

      """
  }

  /// The fields in a table of purchases of a layout, in the order of its columns.
  static func lineFields(_ layout: Int64) -> [TransactionField] {
    TransactionField.all.filter { $0.mirrorLayout <= layout }
  }

  /// The fields in a table of a mirror, in the order of its columns.
  static func fields(_ place: RowField.Place, _ layout: Int64) -> [RowField] {
    RowField.all.filter { $0.place == .key }
      + RowField.all.filter { $0.place == place && $0.mirrorLayout <= layout }
  }

  /// The columns of the first layout.
  private static func definitions(_ place: RowField.Place) -> String {
    definitions(fields(place, 1))
  }

  private static func definitions<Subject>(_ fields: [Field<Subject>]) -> String {
    fields.map { column($0) + (isNeverNull($0) ? " NOT NULL" : "") }.joined(separator: ",\n  ")
  }

  /// Adds the columns of later layouts.
  private static var later: String {
    let rows = RowField.all.filter { $0.mirrorLayout > 1 }.map { field in
      (field.place == .span ? "entitlement_span" : "entitlement", column(field))
    }
    let lines = TransactionField.all.filter { $0.mirrorLayout > 1 }
      .map { ("transaction_line", column($0)) }
    return (rows + lines).map { table, column in
      "ALTER TABLE {schema}.\(table) ADD COLUMN IF NOT EXISTS \(column);\n"
    }.joined()
  }

  /// All rows at a time, an SQL expression, with their times as dates behind all columns: a view is
  /// replaced by one with more columns at its end. A column of a later layout goes behind them.
  private static func query(at moment: String) -> String {
    let dates = times.map { "\(date("r.\($0.column)")) AS \(dateName($0))" }
    return """
        SELECT r.*, \(dates.joined(separator: ", "))
        FROM (SELECT \(RowField.all.map { selected($0, moment) }.joined(separator: ", "))
        FROM {schema}.mirror m
          JOIN {schema}.entitlement e ON e.generation = m.generation
          CROSS JOIN LATERAL (
            SELECT * FROM {schema}.entitlement_span p
            WHERE p.original_transaction_id = e.original_transaction_id
              AND p.bundle_id = e.bundle_id
              AND p.environment = e.environment AND p.generation = e.generation
              AND p.from_ms <= floor(extract(epoch FROM \(moment)) * 1000)::bigint
            ORDER BY p.from_ms DESC LIMIT 1) s) r
      """
  }

  private static let times = RowField.all.filter { if case .time = $0.kind { true } else { false } }

  /// The name of a time as a date: without `_ms`.
  private static func dateName(_ field: RowField) -> String { String(field.column.dropLast(3)) }

  /// What a view of a table of its own selects: dates as such.
  ///
  /// - Parameter expressions: of columns that depend on the time.
  private static func view<Subject>(
    _ fields: [Field<Subject>], _ expressions: [String: String] = [:]
  ) -> String {
    fields.map { field in
      if let expression = expressions[field.column] { return "\(expression) AS \(field.column)" }
      guard case .time = field.kind else { return "t.\(field.column)" }
      return "\(date("t.\(field.column)")) AS \(field.name)"
    }.joined(separator: ",\n  ")
  }

  /// As `RefundLine.shown` has it.
  private static let requestExpressions = [
    "state": "CASE WHEN t.state = 'waiting' AND t.deadline_ms <= \(now) THEN 'missed' "
      + "ELSE t.state END",
    "outcome": "CASE WHEN t.outcome IS NULL AND t.source = 'v1' AND t.requested_at_ms "
      + "+ \(RefundRequest.untoldAfter) <= \(now) THEN '\(RefundLine.untold)' ELSE t.outcome END",
  ]
  private static let now = "floor(extract(epoch FROM now()) * 1000)::bigint"

  private static func date(_ column: String) -> String { "{schema}.date_of(\(column))" }

  private static func comments<Subject>(_ view: String, _ fields: [Field<Subject>]) -> String {
    fields.map { field in
      let name = if case .time = field.kind { field.name } else { field.column }
      return comment(view, name, field.meaning)
    }.joined(separator: "\n")
  }

  private static var rowComments: String {
    let columns = RowField.all.map { ($0.column, $0.meaning) }
    return (columns + times.map { (dateName($0), $0.meaning) }).map {
      comment("entitlement_v1", $0, $1)
    }.joined(separator: "\n")
  }

  private static func comment(_ view: String, _ column: String, _ text: String) -> String {
    let quoted = text.split(separator: "'", omittingEmptySubsequences: false)
      .joined(separator: "''")
    return "COMMENT ON COLUMN {schema}.\(view).\(column) IS '\(quoted)';"
  }

  private static func isNeverNull<Subject>(_ field: Field<Subject>) -> Bool {
    !field.isOptional && !field.name.contains(".")
  }

  private static func column<Subject>(_ field: Field<Subject>) -> String {
    let type =
      switch field.kind {
      case .text, .oneOf, .refunds: "text"
      case .texts: "text[]"
      case .integer, .time: "bigint"
      case .flag: "boolean"
      case .uuid: "uuid"
      }
    return "\(field.column) \(type)"
  }

  private static func selected(_ field: RowField, _ moment: String) -> String {
    if field.column == "revoked_at_ms" {
      return "CASE WHEN s.status = 'revoked' OR s.gap OR e.revoked_at_ms > "
        + "floor(extract(epoch FROM \(moment)) * 1000)::bigint THEN e.revoked_at_ms END "
        + "AS revoked_at_ms"
    }
    if field.column == "commitment_auto_renew" {
      return "CASE WHEN s.commitment_period IS NOT NULL THEN e.commitment_auto_renew END "
        + "AS commitment_auto_renew"
    }
    return (field.place == .span ? "s." : "e.") + field.column
  }

  /// An identifier (postgresql.org/docs/15/sql-syntax-lexical.html).
  static func quoted(_ name: String) -> String {
    "\"" + name.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"")
      + "\""
  }
}
