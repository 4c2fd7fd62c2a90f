import Platform
import Store
import StrictJSON

/// `report`: the questions of finance that have a name.
enum ReportCommand {
  static let flags: [Command.Flag] = [
    .init("--month", "M", "only this month, such as 2026-08"),
    .init("--day", "D", "as of this day, such as 2026-08-31, at midnight UTC; today if absent"),
    .init("--customer", "TOKEN", "of the customer with this appAccountToken"),
    .init("--sql", "print the SELECT for subledger query, and run nothing"),
    .init("--postgresql", "print the SELECT for a mirror in PostgreSQL, and run nothing"),
    .init("--only", "REASON", "of compare: print the lines with this reason alone"),
    .json, .init("--csv", "print CSV with a line of column names; lines end with LF"),
    QueryCommand.limit, PastRows.knownAt,
    .init("--compare", "T", "print what is another than was known at T, and what came since"),
  ]

  static func run(_ arguments: Arguments) throws(LedgerError) -> ExitCode {
    if arguments.operands.first == CompareCommand.name { return try CompareCommand.run(arguments) }
    guard arguments["--only"] == nil else { throw .usage("--only is of report compare") }
    guard let name = arguments.operands.first else { return list(arguments) }
    _ = try arguments.operand("the name of one report")
    guard let report = Report.named(name) else {
      let known = Report.all.map(\.name)
      throw .usage(
        "no report is called '\(name)'\(Suggestion.text(for: name, among: known)); there are "
          + known.joined(separator: ", "))
    }
    var given: [Report.Parameter: String] = [:]
    for parameter in Report.Parameter.allCases {
      given[parameter] = arguments["--\(parameter.rawValue)"]
    }
    let values = try report.values(given, at: try PastRows.moment(arguments) ?? Clock.now())
    for dialect in [("--sql", Report.Dialect.sqlite), ("--postgresql", .postgresql)]
    where arguments.has(dialect.0) {
      Terminal.print(report.text(values, dialect.1))
      return .good
    }
    let seconds = try QueryCommand.seconds(arguments)
    let cancellation = Cancellation()
    _ = Interruption.started(cancellation)
    if let time = try arguments.time("--compare") {
      let comparison = ReportComparison(
        report: report, values: values, arguments: arguments, seconds: seconds,
        cancellation: cancellation)
      return try comparison.run(since: time)
    }
    return try QueryCommand.read(arguments, "report", seconds, cancellation) {
      (reader, limit) throws(LedgerError) in
      try QueryCommand.print(try reader.prepare(report, values), limit, arguments)
    }
  }

  private static func list(_ arguments: Arguments) -> ExitCode {
    for report in Report.all {
      if arguments.has("--json") {
        Terminal.print(Report.object.json(report))
        continue
      }
      var text = TextWrapper()
      text.add(report.name.padded(to: 16) + report.title, hanging: 16)
      if !report.definition.isEmpty { text.add(report.definition, indent: 16) }
      for parameter in report.parameters {
        text.add("--\(parameter.rawValue) takes \(parameter.form).", indent: 16)
      }
      Terminal.print(text.text)
    }
    return .good
  }
}
