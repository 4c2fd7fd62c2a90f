import AppStore
import HTTPServer
import Ledger
import Platform
import Queries
import Store
import StrictJSON

/// The routes of the questions of finance that have a name.
extension Route {
  static let reports = Route(
    "listReports", .ledger, "GET", "/v1/reports", .token(.read),
    "Lists the questions of finance that can be asked by name.",
    replies: .usual("The reports.", "ReportList"), answer: LedgerHandler.listReports)

  static let report = Route(
    "getReport", .ledger, "GET", "/v1/reports/{report}", .token(.read),
    "Answers a question of finance, for the apps and environments of the token.",
    [
      Parameter("report", .identifier, "The name of the report."),
      Parameter("month", .report(.month), "Only this month, in UTC."),
      Parameter("day", .report(.day), "As of this day, at midnight UTC; today if absent."),
      .reportCustomer,
    ],
    replies: .usual(
      "The lines of the answer.", "Report", .absent(Problem.noSuchReport)),
    answer: LedgerHandler.getReport)
}

extension Parameter {
  fileprivate static let reportCustomer = Parameter(
    "customer", .report(.customer), "Of the customer with this appAccountToken.")
}

extension LedgerHandler {
  /// The lines of an answer at most.
  private static let maximumLines = 10_000

  fileprivate func listReports(_ call: Call) -> HTTPResponse? {
    .json(Answers.all(of: Report.object).json(Report.all))
  }

  fileprivate func getReport(_ call: Call) throws(ParameterFault) -> HTTPResponse? {
    guard let report = Report.named(call.id) else {
      return service.finished(Problem.noSuchReport)
    }
    let values = try values(of: call, report)
    return service.answer(.long, call) { [service] reader throws(LedgerError) in
      let query = try QueryReader.open(service.ledger.folder)
      if let limit = reader.limit { query.ask(limit) }
      let prepared = try query.prepare(
        report, values, bundleIds: call.token.bundleIds, environments: call.token.environments)
      var lines: [JSONValue] = []
      var isWhole = true
      try prepared.run(nil) { line in
        isWhole = lines.count < Self.maximumLines
        if isWhole { lines.append(.object(Array(zip(prepared.columns, line.map(\.json))))) }
        return isWhole
      }
      return .json(
        Answers.report.json((report, values, prepared.columns, lines, isWhole)))
    }
  }

  private func values(
    of call: Call, _ report: Report
  ) throws(ParameterFault) -> [Report.Parameter: String] {
    var given: [Report.Parameter: String] = [:]
    for parameter in Report.Parameter.allCases {
      given[parameter] = call.query[parameter.rawValue]
      guard given[parameter] == nil || report.parameters.contains(parameter) else {
        throw ParameterFault(
          .unknown, nil, expected: .oneOf(report.parameters.map(\.rawValue)))
      }
    }
    do throws(LedgerError) {
      return try report.values(given, at: Clock.now())
    } catch {
      // All others have a usual value.
      throw ParameterFault(.missing, .reportCustomer)
    }
  }
}

extension Answers {
  typealias ReportAnswer = (
    report: Report, values: [Report.Parameter: String], columns: [String], lines: [JSONValue],
    isWhole: Bool
  )

  static let report = JSONObject<ReportAnswer>(
    [.type("report")] + Report.members.map { $0.of { $0.report } }
      + Report.Parameter.allCases.map { parameter in
        JSONMember(parameter.rawValue, .text("What was asked; null where nothing was.")) {
          $0.values[parameter]
        }
      } + [
        JSONMember("columns", .list(.text())) { $0.columns },
        JSONMember("items", .list(.map(.anything("A text, a number or null."), "By column."))) {
          $0.lines
        },
        JSONMember("is_whole", .boolean("Whether all lines are here; 10,000 at most are.")) {
          $0.isWhole
        },
      ])
}
