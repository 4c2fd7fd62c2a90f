import Foundation
import StrictJSON
import Support
import Testing

/// `subledger report`, apart from what it sums.
@Suite struct ReportCommandTests {
  @Test func `every report is listed with the title that the page has`() throws {
    let installation = try Installation()
    let listed = try installation.run("report", "--json").lines()
    #expect(listed.compactMap { $0["name"]?.string } == Finance.reports)
    let page = try DocumentationPage.operating("finance").text
      .split { $0.isWhitespace }.joined(separator: " ")
    for (number, report) in listed.enumerated() {
      let title = report["title"]?.string ?? ""
      #expect(page.contains("**\(number + 1). \(title)**"), "\(title)")
    }
    let text = try installation.run("report").output
    for name in Finance.reports { #expect(text.contains("\n\(name) ") || text.hasPrefix(name)) }
  }

  @Test(arguments: [
    (["chargs"], "did you mean 'charges'?"),
    (["charges", "net"], "unexpected argument 'net'"),
    (["charges", "--day", "2026-08-01"], "the report charges takes no day"),
    (["charges", "--month", "2026-13"], "month takes a month, such as 2026-08"),
    (["charges", "--month", "' OR 1"], "month takes a month, such as 2026-08"),
    (["ended", "--month", "2026"], "month takes a month, such as 2026-08"),
    (["subscriptions", "--day", "2026-02-30"], "day takes a day, such as 2026-08-31"),
    (["subscriptions", "--day", "1767225600"], "day takes a day, such as 2026-08-31"),
    (["customer"], "the report customer needs a customer"),
    (["charges", "--csv", "--json"], "choose one of --json and --csv"),
  ]) func `a wrong question is refused with what is right`(
    _ arguments: [String], _ reason: String
  ) throws {
    let installation = try Installation()
    let finished = try installation.run(["report"] + arguments)
    #expect(finished.code == 2 && finished.errors.contains(reason), "\(finished)")
  }

  @Test(arguments: 1...Finance.reports.count)
  func `what --sql prints gives the same by query`(_ number: Int) throws {
    let installation = try Installation()
    try Finance.ingest(
      [
        (
          Sample.notification(1, otid: "7001")
            .setting("data.transaction.appAccountToken", .string("it's me")),
          1_780_000_000_000
        )
      ], installation)
    let value = [6: "2026-01-10", 7: "2026-01", 10: "it's me", 11: "2026-01-10"][number] ?? ""
    let arguments = Finance.arguments(number, value)
    let report = try installation.run(arguments + ["--csv"])
    let sql = try installation.run(arguments + ["--sql"])
    let query = try installation.run("query", "--csv", sql.output)
    #expect(report.code == 0 && report.output == query.output, "\(report) \(query)")
  }
}
