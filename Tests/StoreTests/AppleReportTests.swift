import Foundation
import Platform
import Support
import Testing

@testable import Store

/// What is read of Apple's reports, and what is refused.
@Suite struct AppleReportTests {
  private static let financial = """
    Vendor Name\tExample
    Start Date\t2026-07-05
    End Date\t2026-08-01
    Transaction Date\tSettlement Date\tApple Identifier\tSKU\tTitle\tDeveloper Name\tProduct Type \
    Identifier\tCountry of Sale\tQuantity\tPartner Share\tExtended Partner Share\tPartner Share \
    Currency\tCustomer Price\tCustomer Currency\tSale or Return\tPromo Code\tOrder Type\tRegion
    2026-07-04\t2026-07-06\t1\tpro\t"Pro"\tEx\tIAY\tDE\t2\t6.99\t13.98\tEUR\t9.99\tEUR\tS\t \t\t
    2026-07-20\t2026-07-22\t1\tpro\tPro\tEx\tIAY\tUS\t-1\t6.99\t-6.99\tUSD\t9.99\tUSD\tR\t\t\t
    2026-07-20\t2026-07-22\t1\tapp\tApp\tEx\t1F\tUS\t3\t0\t0\tUSD\t0\tUSD\tS\t\t\t
    Country Of Sale\tPartner Share Currency\tQuantity\tExtended Partner Share
    DE\tEUR\t2\t13.98
    US\tUSD\t2\t-6.99

    """
  private static let sales = """
    Provider\tSKU\tProduct Type Identifier\tUnits\tDeveloper Proceeds\tBegin Date\tEnd Date\t\
    Customer Currency\tCountry Code\tCustomer Price
    APPLE\tpro\tIAY\t3\t6.99\t07/20/2026\t07/20/2026\tEUR\tDE\t9.99
    APPLE\tpro\tIAY\t-1\t6.99\t07/21/2026\t07/21/2026\tEUR\tDE\t-9.990
    APPLE\tpro\tIAY\t4\t0\t07/21/2026\t07/21/2026\tEUR\tDE\t0

    """

  private func read(
    _ bytes: [UInt8], _ cancellation: Cancellation = Cancellation()
  ) throws -> (rows: [String], report: AppleReport) {
    let scratch = try Scratch()
    let path = scratch.folder.path + "/report.txt"
    try Data(bytes).write(to: URL(filePath: path))
    var rows: [String] = []
    let report = try AppleReport(path, cancellation) { row throws(LedgerError) in
      let days = [row.days.lowerBound, row.days.upperBound].map {
        Timestamp.text($0 * 86_400_000).prefix(10)
      }
      rows.append(
        "\(row.kind) \(days[0])/\(days[1]) \(row.product) \(row.country) \(row.currency) "
          + "\(row.isReturn ? "return" : "sale") \(row.price) \(row.units)")
    }
    return (rows, report)
  }

  private func read(_ text: String) throws -> (rows: [String], report: AppleReport) {
    try read(Array(text.utf8))
  }

  /// The message of the refusal, from its line on.
  private func refusal(_ bytes: [UInt8]) -> String {
    do {
      return "none: \(try read(bytes).rows)"
    } catch {
      guard let error = error as? LedgerError, error.kind == .damaged else { return "\(error)" }
      return String(error.message.split(separator: "report.txt, ", maxSplits: 1).last ?? "")
    }
  }

  private func refusal(_ text: String) -> String { refusal(Array(text.utf8)) }

  private static let financialRows = [
    "financial 2026-07-04/2026-07-04 pro DE EUR sale 9990 2",
    "financial 2026-07-20/2026-07-20 pro US USD return 9990 1",
  ]
  private static let salesRows = [
    "sales 2026-07-20/2026-07-20 pro DE EUR sale 9990 3",
    "sales 2026-07-21/2026-07-21 pro DE EUR return 9990 1",
  ]

  // MARK: Forms

  @Test func `a detailed Financial report and a Summary Sales report are told by their headers`()
    throws
  {
    let financial = try read(Self.financial)
    #expect(financial.rows == Self.financialRows)
    #expect(financial.report.days.count == 28 && financial.report.otherUnits == 3)
    let sales = try read(Self.sales)
    #expect(sales.rows == Self.salesRows)
    #expect(sales.report.days.count == 2 && sales.report.otherUnits == 4)
  }

  @Test func `dates have the month first or are those of ISO 8601`() throws {
    let slashes = Self.financial.replacing(/2026-(\d\d)-(\d\d)/) { "\($0.1)/\($0.2)/2026" }
    #expect(slashes.contains("Start Date\t07/05/2026"))
    #expect(try read(slashes).rows == Self.financialRows)
    let dashes = Self.sales.replacing(/(\d\d)\/(\d\d)\/2026/) { "2026-\($0.1)-\($0.2)" }
    #expect(try read(dashes).rows == Self.salesRows)
  }

  @Test func `columns may have another order and spelling, lines other ends, values blanks`() throws
  {
    let lines = Self.sales.split(separator: "\n").map { line in
      line.split(separator: "\t", omittingEmptySubsequences: false).reversed().map { " \($0) " }
    }
    let odd = lines.enumerated().map { index, fields in
      (index == 0 ? fields.map { $0.uppercased() } + ["Note"] : fields + [""])
        .joined(separator: "\t")
    }
    #expect(try read("\n" + odd.joined(separator: "\r\n") + "\r\n\r\n").rows == Self.salesRows)
    #expect(
      try read(Self.financial.replacing("\n", with: "\t\r\n").replacing("\t\r\n\t", with: "\n"))
        .rows == Self.financialRows, "a column without a name at the end")
  }

  @Test func `rows of a week or a month are about all of its days`() throws {
    let week = Self.sales.replacing(/07\/2.\/2026\t07\/2.\/2026/, with: "07/20/2026\t07/26/2026")
    let (rows, report) = try read(week)
    #expect(rows.first == "sales 2026-07-20/2026-07-26 pro DE EUR sale 9990 3")
    #expect(report.days.count == 7 && Set(report.days.values).count == 1)
  }

  // MARK: Refusals

  @Test(arguments: [
    ("Begin Date", "line 1: neither a detailed Financial report nor a Summary Sales report"),
    ("Customer Price", "line 1: neither"), ("SKU", "line 1: neither"),
  ]) func `a header without a column that is needed is shown`(_ column: String, _ text: String) {
    let found = refusal(Self.sales.replacing(column, with: "Other"))
    #expect(found.hasPrefix(text) && found.contains("the header has: Provider, "), "\(found)")
    let twice = refusal(Self.sales.replacing("Provider", with: column))
    #expect(twice.hasPrefix("line 1: neither"), "\(twice)")
  }

  @Test func `what is no header is not shown`() {
    let found = refusal("jane@example.com\t4711\tJane <b>\t\u{1B}[2J\nname\n")
    #expect(found.hasSuffix("the header has: …, …, …, …"), "\(found)")
  }

  @Test(arguments: [
    (#"07/20/2026\t07/20/2026"#, "20/07/2026\t20/07/2026", "line 2: a date is YYYY-MM-DD or"),
    (#"07/20/2026\t07/20/2026"#, "7/20/2026\t7/20/2026", "line 2: a date is"),
    (#"07/20/2026\t07/20/2026"#, "07/20/26\t07/20/26", "line 2: a date is"),
    (#"07/20/2026\t07/20/2026"#, "2026-02-30\t2026-02-30", "line 2: a date is"),
    (#"07/20/2026\t07/20/2026"#, "1767225600\t1767225600", "line 2: a date is"),
    (#"07/20/2026\t07/20/2026"#, "07/20/2026\t07/19/2026", "line 2: the end is not within"),
    (#"07/20/2026\t07/20/2026"#, "07/20/1926\t07/20/2026", "line 2: the end is not within"),
    (#"07/20/2026\t07/20/2026"#, "07/20/2026\t07/21/2026", "line 3: its days overlap"),
    (#"IAY\t3"#, "IAY\tthree", "line 2: units takes a number with at most 0 decimals"),
    (#"IAY\t3"#, "IAY\t3.5", "line 2: units takes"), (#"IAY\t3"#, "IAY\t+3", "line 2: units takes"),
    (#"IAY\t3"#, "IAY\t1e3", "line 2: units takes"), (#"IAY\t3"#, "IAY\t", "line 2: units takes"),
    (#"IAY\t3"#, "IAY\t1,000", "line 2: units takes"),
    (#"IAY\t3"#, "IAY\t999999999999", "none: "),
    (#"DE\t9\.99\n"#, "DE\t9,99\n", "line 2: customer price takes a number with at most 3"),
    (#"DE\t9\.99\n"#, "DE\t9.9999\n", "line 2: customer price takes"),
    (#"DE\t9\.99\n"#, "DE\t\n", "line 2: customer price takes"),
    (#"DE\t9\.99\n"#, "DE\t9999999999999.99\n", "line 2: customer price takes"),
    (#"DE\t9\.99\n"#, "DE\n", "line 2: 9 columns, not 10"),
    (#"DE\t9\.99\n"#, "DE\t9.99\t1\n", "line 2: 11 columns"),
  ]) func `a wrong value of a Summary Sales report is named by line and column`(
    _ pattern: String, _ value: String, _ text: String
  ) throws {
    let found = refusal(Self.sales.replacing(try Regex(pattern), with: value, maxReplacements: 1))
    #expect(found.hasPrefix(text), "\(found)")
    #expect(!found.contains("jane"))
  }

  @Test(arguments: [
    ("Vendor Name\tExample\nStart Date\t2026-07-05\n", "", "line 2: Start Date and End Date are"),
    ("End Date\t2026-08-01", "End Date\t2026-07-01", "line 4: the end is not within"),
    ("2026-07-20\t", "2026-08-02\t", "line 6: transaction date is after the End Date"),
    ("\tR\t", "\tX\t", "line 6: sale or return takes S or R"),
    ("13.98\tEUR\t9.99", "free\tEUR\t9.99", "line 5: extended partner share takes"),
    ("DE\tEUR\t2\t13.98", "DE\tEUR\t3\t13.98", "line 9: the totals are not those of the rows"),
    ("DE\tEUR\t2\t13.98", "DE\tEUR\t2\t14.98", "line 9: the totals are not"),
    ("DE\tEUR\t2\t13.98", "AT\tEUR\t2\t13.98", "line 9: the totals are not"),
    ("DE\tEUR\t2\t13.98", "DE\tEUR\t2\t13.985", "none: "),
    ("DE\tEUR\t2\t13.98\n", "", "line 9: totals are missing at its end"),
  ]) func `a wrong line of a Financial report is named`(
    _ line: String, _ other: String, _ text: String
  ) {
    let found = refusal(Self.financial.replacing(line, with: other, maxReplacements: 1))
    #expect(found.hasPrefix(text), "\(found)")
  }

  @Test func `a file that is cut behind any line is refused`() {
    let lines = Self.financial.split(separator: "\n", omittingEmptySubsequences: false)
    for count in 0..<lines.count - 2 {
      let found = refusal(lines.prefix(count).map { $0 + "\n" }.joined())
      #expect(found.hasSuffix("download it again"), "\(count) lines: \(found)")
    }
  }

  @Test func `another encoding is refused`() throws {
    let text = Self.sales.replacing("APPLE", with: "Äpfel")
    #expect(try read(text).rows == Self.salesRows)
    let utf16 = try #require(text.data(using: .utf16))
    #expect(refusal(Array(utf16)).hasPrefix("line 1: it is no UTF-8"))
    let latin = try #require(text.data(using: .isoLatin1))
    #expect(refusal(Array(latin)).hasPrefix("line 2: it is no UTF-8"))
  }

  @Test func `hostile files are refused`() {
    let tabs = [UInt8](repeating: 0x09, count: 60_000)
    #expect(refusal(Array(Self.sales.utf8) + tabs + [0x0A]) == "none: \(Self.salesRows)")
    let long = [UInt8](repeating: 0x61, count: 1 << 20)
    #expect(refusal(long).hasPrefix("line 1: the line is too long"))
    #expect(refusal("").hasPrefix("line 0: the file has no rows"))
    #expect(refusal("\n\n \t\n").hasPrefix("line 3: the file has no rows"))
    #expect(refusal("Vendor Name\tx\n").hasPrefix("line 1: the file has no rows"))
    let many = Self.sales.replacing("\t3\t6.99", with: "\t999999999999\t6.99")
      .replacing("9.99\n", with: "999999999999.99\n")
    #expect(refusal(many).hasPrefix("line 2: the amount is too large"))
  }

  @Test func `what is cancelled is stopped`() throws {
    let cancellation = Cancellation()
    cancellation.request()
    #expect(throws: LedgerError.stopped) { try read(Array(Self.sales.utf8), cancellation) }
  }
}
