public import AppStore
public import Platform
public import StrictJSON

/// A question of finance that has a name: a SELECT over the views, for a folder and for a mirror.
///
/// Each is a file of `Reports`: lines of comment with its title, what it counts, and what may be
/// chosen, then the SELECT of SQLite, and that of PostgreSQL behind the line `-- postgresql`.
public struct Report: Sendable {
  /// What may be chosen: a value of the SELECT, or a month that is picked from the answer.
  public enum Parameter: String, Sendable, CaseIterable { case month, day, customer }

  /// A database for which there is a text.
  public enum Dialect: String, Sendable, CaseIterable { case sqlite, postgresql }

  public let name: String
  public private(set) var title = ""
  /// What is counted and what is not; empty where the title says it.
  public private(set) var definition = ""
  public private(set) var parameters: [Parameter] = []
  /// The column that says in which month a line is, where a month is picked from the answer.
  private var monthColumn: String?
  private var texts: [Dialect: String] = [:]

  /// All reports, in the order of the guide.
  public static let all = [
    Report("charges", PackageResources.charges_sql),
    Report("refunds", PackageResources.refunds_sql),
    Report("net", PackageResources.net_sql),
    Report("trials", PackageResources.trials_sql),
    Report("due", PackageResources.due_sql),
    Report("subscriptions", PackageResources.subscriptions_sql),
    Report("ended", PackageResources.ended_sql),
    Report("at-risk", PackageResources.at_risk_sql),
    Report("changes", PackageResources.changes_sql),
    Report("customer", PackageResources.customer_sql),
    Report("recurring", PackageResources.recurring_sql),
    Report("retention", PackageResources.retention_sql),
    Report("refund-rate", PackageResources.refund_rate_sql),
    Report("daily-trials", PackageResources.daily_trials_sql),
  ]

  /// The report with a name; nil if there is none.
  public static func named(_ name: String) -> Report? { all.first { $0.name == name } }

  private init(_ name: String, _ file: [UInt8]) {
    self.name = name
    var dialect = Dialect.sqlite
    for line in String(decoding: file, as: UTF8.self).split(separator: "\n") {
      if let comment = line.wholeMatch(of: /-- (.*)/)?.1 {
        if comment == Dialect.postgresql.rawValue { dialect = .postgresql } else { read(comment) }
      } else {
        texts[dialect, default: ""] += (texts[dialect] == nil ? "" : "\n") + line
      }
    }
  }

  private mutating func read(_ comment: Substring) {
    if let title = comment.wholeMatch(of: /title: (.*)/)?.1 {
      self.title = String(title)
    } else if let column = comment.wholeMatch(of: /month: (.*)/)?.1 {
      (monthColumn, parameters) = (String(column), parameters + [.month])
    } else if let name = comment.wholeMatch(of: /parameter: (.*)/)?.1 {
      parameters += [Parameter(rawValue: String(name))].compactMap(\.self)
    } else {
      definition += (definition.isEmpty ? "" : " ") + comment
    }
  }

  /// What is asked: the values of all parameters, those that were not given too.
  ///
  /// - Parameter now: milliseconds since 1970 UTC.
  /// - Throws: `LedgerError.usage` for a value that the report does not take, for one that is no
  ///   month or day, and for a missing one that has no usual value.
  public func values(
    _ given: [Parameter: String], at now: Int64
  ) throws(LedgerError) -> [Parameter: String] {
    if let other = given.keys.first(where: { !parameters.contains($0) }) {
      throw .usage("the report \(name) takes no \(other.rawValue)")
    }
    var values = given
    for parameter in parameters {
      if let value = given[parameter] {
        guard parameter.accepts(value) else {
          throw .usage("\(parameter.rawValue) takes \(parameter.form)")
        }
      } else if monthColumn == nil {
        guard let usual = parameter.usual(at: now) else {
          throw .usage("the report \(name) needs a \(parameter.rawValue): \(parameter.form)")
        }
        values[parameter] = usual
      }
    }
    return values
  }

  /// The SELECT, with `:name` in place of each value.
  func statement(_ values: [Parameter: String], _ dialect: Dialect = .sqlite) -> String {
    let text = texts[dialect] ?? ""
    guard let monthColumn, values[.month] != nil else { return text }
    return "SELECT * FROM (\(text)) AS answer WHERE substr(\(monthColumn), 1, 7) = :month"
  }

  /// The SELECT with the values, for a person who goes on from it.
  ///
  /// - Parameter values: as of `values(_:at:)`.
  public func text(_ values: [Parameter: String], _ dialect: Dialect) -> String {
    values.reduce(statement(values, dialect)) { text, entry in
      text.replacing(":\(entry.key.rawValue)", with: Self.literal(entry.value))
    }
  }

  static func literal(_ value: String) -> String {
    "'" + value.replacing("'", with: "''") + "'"
  }
}

extension Report {
  /// What names it, in any object.
  public static let members: [JSONMember<Report>] = [
    JSONMember("name", .text()) { $0.name },
    JSONMember("title", .text("The question.")) { $0.title },
    JSONMember("definition", .text("What is counted, where the title does not say it.")) {
      $0.definition
    },
  ]

  public static let object = JSONObject<Report>(
    members + [
      JSONMember("parameters", .list(.oneOf(Parameter.allCases.map(\.rawValue)))) {
        $0.parameters.map(\.rawValue)
      }
    ])
}

extension Report.Parameter {
  /// What a value looks like.
  public var form: String {
    switch self {
    case .month: "a month, such as 2026-08"
    case .day: "a day, such as 2026-08-31"
    case .customer: "the appAccountToken of a customer, in lower case"
    }
  }

  public func accepts(_ value: String) -> Bool {
    switch self {
    case .month: value.utf8.count == 7 && Timestamp.parse(value + "-01") != nil
    case .day: value.utf8.count == 10 && value.contains("-") && Timestamp.parse(value) != nil
    case .customer: 1...256 ~= value.utf8.count && !value.utf8.contains(0)
    }
  }

  /// Today, and the month before this one.
  fileprivate func usual(at now: Int64) -> String? {
    let today = Timestamp.text(now).prefix(10)
    switch self {
    case .day: return String(today)
    case .month:
      let first = Timestamp.parse(today.prefix(8) + "01") ?? now
      return String(Timestamp.text(first - 86_400_000).prefix(7))
    case .customer: return nil
    }
  }
}

extension QueryReader {
  /// Prepares a report.
  ///
  /// - Parameters:
  ///   - values: as of `Report.values(_:at:)`.
  ///   - bundleIds: the apps that are counted; nil for all.
  ///   - environments: those that are counted; nil for all.
  /// - Throws: as `prepare(_:)`.
  public func prepare(
    _ report: Report, _ values: [Report.Parameter: String], bundleIds: Set<String>? = nil,
    environments: Set<Environment>? = nil
  ) throws(LedgerError) -> Query {
    var conditions: [String] = []
    func only(_ column: String, _ allowed: [String]?) {
      guard let allowed else { return }
      conditions.append("\(column) IN (\(allowed.map(Report.literal).joined(separator: ", ")))")
    }
    only("bundle_id", bundleIds?.sorted())
    only("environment", environments?.map(\.rawValue).sorted())
    var sql = report.statement(values)
    if !conditions.isEmpty {
      // What stands here in place of the views has their names.
      let views = try Self.counted.map { view throws(LedgerError) in
        "\(view.name) AS NOT MATERIALIZED (SELECT * FROM \(try schema(of: view)).\(view.name) "
          + "WHERE \(conditions.joined(separator: " AND ")))"
      }
      sql = "WITH \(views.joined(separator: ", ")) SELECT * FROM (\(sql))"
    }
    let query = try prepare(trusted: sql)
    for (parameter, value) in values { query.bind(":\(parameter.rawValue)", value) }
    return query
  }

  /// The views that reports read.
  private static let counted = [SQLView.transaction, .refund, .entitlement]

  private func schema(of view: SQLView) throws(LedgerError) -> String {
    let isTemporary = try connection.statement("SELECT 1 FROM temp.sqlite_schema WHERE name = ?")
      .bind(1, view.name).first { _ in true }
    return isTemporary == true ? SQLView.temporarySchema : view.schema
  }
}
