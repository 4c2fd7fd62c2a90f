import AppStoreSimulator
import Foundation
import StrictJSON
import Support
import Testing

/// `subledger report compare`, apart from what it finds in books.
@Suite struct CompareCommandTests {
  /// 9.99 € in Germany on July 20, and 4.00 € of it given back on July 28, in Pacific Time.
  private func world(_ more: [(JSONValue, Int64)] = []) throws -> Installation {
    let installation = try Installation()
    let bought = try Finance.time("2026-07-21") + 3_600_000
    let money: [(String, JSONValue)] = [
      ("price", .integer(9_990)), ("currency", .string("EUR")), ("storefront", .string("DEU")),
      ("productId", .string("pro")), ("purchaseDate", .integer(bought)),
      ("transactionId", .string("71")), ("inAppOwnershipType", .string("PURCHASED")),
    ]
    let back: [(String, JSONValue)] = [
      ("revocationDate", .integer(bought + 8 * Sample.day)),
      ("revocationPercentage", .integer(40_000)), ("revocationType", .string("REFUND_PRORATED")),
    ]
    func told(_ number: Int, _ type: String, _ date: Int64, _ more: [(String, JSONValue)]) -> (
      JSONValue, Int64
    ) {
      let payload = more.reduce(Sample.notification(number, type: type).dated(date)) {
        $0.setting("data.transaction.\($1.0)", $1.1)
      }
      return (payload, date)
    }
    try Finance.ingest(
      [
        told(1, "SUBSCRIBED", bought, money),
        told(2, "REFUND", bought + 8 * Sample.day, money + back),
      ] + more, installation)
    return installation
  }

  private static let header =
    "SKU\tProduct Type Identifier\tUnits\tBegin Date\tEnd Date\tCustomer Currency\tCountry Code\t"
    + "Customer Price\n"

  private func row(
    _ date: String, units: Int = 1, price: String = "9.99", country: String = "DE"
  ) -> String { "pro\tIAY\t\(units)\t\(date)\t\(date)\tEUR\t\(country)\t\(price)\n" }

  private func file(
    _ installation: Installation, _ text: String, _ name: String = "sales.txt"
  ) throws -> String {
    let path = installation.folder.appending(path: name)
    try Data(text.utf8).write(to: path)
    return path.path
  }

  @Test func `a table has all lines, then the sums by reason`() throws {
    let installation = try world()
    let path = try file(
      installation,
      Self.header + row("2026-07-20") + row("2026-07-29", units: -1, price: "-4.00")
        + row("2026-07-20", country: "FR"))
    let result = try installation.run("report", "compare", path)
    #expect(result.code == 0 && result.errors.isEmpty, "\(result)")
    #expect(
      result.output == """
        report  first_day   last_day    product_id  country  kind    price  currency  our_units  \
        their_units  ours  theirs  difference  reason
        ------  ----------  ----------  ----------  -------  ------  -----  --------  ---------  \
        -----------  ----  ------  ----------  --------------------
        sales   2026-07-20  2026-07-20  pro         DE       sale     9.99  EUR               1  \
                  1  9.99    9.99         0.0
        sales   2026-07-20  2026-07-20  pro         FR       sale     9.99  EUR               0  \
                  1   0.0    9.99       -9.99  not in notifications
        sales   2026-07-29  2026-07-29  pro         DE       return    4.0  EUR               0  \
                  1   0.0    -4.0         4.0  not in notifications

        report  currency  our_units  their_units  ours  theirs  difference  reason
        ------  --------  ---------  -----------  ----  ------  ----------  --------------------
        sales   EUR               1            1  9.99    9.99         0.0
        sales   EUR               0            2   0.0    5.99       -5.99  not in notifications

        0 lines unexplained

        """, "the refund is of July 28, of which no file is")
  }

  @Test func `what has purchases names them with their events`() throws {
    let installation = try world()
    let path = try file(
      installation,
      Self.header + row("2026-07-20", price: "9.95") + row("2026-07-28", units: -1, price: "4"))
    let result = try installation.run("report", "compare", path, "--json")
    #expect(result.code == 1)
    let lines = try result.lines()
    let told = lines.map { line in
      ["price", "ours", "theirs", "reason", "transaction_ids", "first_seq", "last_seq"].map {
        line[$0]?.value.text ?? "–"
      }.joined(separator: " ")
    }
    #expect(
      told == [
        #"9.95 0.0 9.95 "unexplained" null null null"#,
        #"9.99 9.99 0.0 "unexplained" "71" 1 2"#,
        #"4.0 -3.996 -4.0 "price rounding" "71" 1 2"#,
      ])
    let csv = try installation.run(
      "report", "compare", path, "--csv", "--only", "not yet settled")
    #expect(csv.code == 1 && csv.output.hasPrefix("report,first_day,"))
    #expect(csv.output.split(separator: "\n").count == 1, "\(csv)")
  }

  @Test func `a whole month in one row has what was sold on its days`() throws {
    let installation = try world()
    let text =
      Self.header
      + "pro\tIAY\t1\t2026-07-01\t2026-07-31\tEUR\tDE\t9.99\n"
      + "pro\tIAY\t-1\t2026-07-01\t2026-07-31\tEUR\tDE\t-4.00\n"
    let result = try installation.run("report", "compare", "--csv", try file(installation, text))
    #expect(result.code == 0, "\(result)")
    let lines = result.output.split(separator: "\n").dropFirst().map { $0.hasSuffix(",71,1,2") }
    #expect(lines == [true, true], "\(result)")
  }

  @Test func `what nobody told the price of is told from what nobody told`() throws {
    var payload = Sample.notification(5, otid: "8000", type: "SUBSCRIBED")
      .dated(try Finance.time("2026-07-20") + 40_000_000)
    for name in ["price", "currency", "storefront"] {
      payload = payload.setting("data.transaction.\(name)", nil)
    }
    payload = payload.setting("data.transaction.productId", .string("pro"))
      .setting("data.transaction.purchaseDate", payload["signedDate"])
      .setting("data.transaction.transactionId", .string("81"))
    let installation = try world([(payload, payload.number("signedDate") ?? 0)])
    let path = try file(
      installation,
      Self.header + row("2026-07-20", units: 2) + row("2026-07-28", units: -1, price: "4"))
    let lines = try installation.run("report", "compare", path, "--json").lines()
    let told = lines.map { "\($0["our_units"]?.integer ?? 0) \($0["reason"]?.string ?? "same")" }
    #expect(told == ["1 same", "1 not in notifications", "1 price rounding"])
    #expect(lines[1]["transaction_ids"]?.string == "81")
    #expect(lines[1]["ours"]?.value.text == "0.0" && lines[1]["theirs"]?.value.text == "9.99")
  }

  /// Purchases around each change of the clock, a second before and after midnight there.
  @Test func `days are those of Pacific Time, in summer and in winter`() throws {
    let installation = try Installation()
    let zone = try #require(TimeZone(identifier: "America/Los_Angeles"))
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = zone
    var told: [(JSONValue, Int64)] = []
    var rows = Self.header
    for (year, month, days) in [(2025, 11, 1...3), (2026, 3, 7...9), (2026, 10, 31...31)] {
      for day in days {
        let date = try #require(
          calendar.date(from: DateComponents(year: year, month: month, day: day)))
        for seconds in [-1.0, 0, 7_200, 10_800, 43_200] {
          let moment = date.addingTimeInterval(seconds)
          let number = told.count + 1
          let time = Int64(moment.timeIntervalSince1970) * 1000
          let style = Date.ISO8601FormatStyle(timeZone: zone)
            .year().month().day().dateSeparator(.dash)
          rows += row(moment.formatted(style), price: "\(number).00")
          told.append(
            (
              [
                ("price", JSONValue.integer(Int64(number) * 1000)), ("currency", .string("EUR")),
                ("storefront", .string("DEU")), ("productId", .string("pro")),
                ("purchaseDate", .integer(time)), ("transactionId", .string("9\(number)")),
              ].reduce(
                Sample.notification(number, otid: "90\(number)", type: "SUBSCRIBED").dated(time)
              ) { $0.setting("data.transaction.\($1.0)", $1.1) }, time
            ))
        }
      }
    }
    try Finance.ingest(told, installation)
    let result = try installation.run(
      "report", "compare", "--json", try file(installation, rows))
    let reasons = try result.lines().map { $0["reason"]?.string ?? "same" }
    #expect(result.code == 0 && reasons == told.map { _ in "same" }, "\(result)")
  }

  // MARK: Refusals

  @Test(arguments: [
    (["compare"], 2, "missing argument: a report of Apple's"),
    (["compare", "FILE", "--only", "unexplaned"], 2, "--only takes one of: not yet settled, not"),
    (["compare", "FILE", "--month", "2026-07"], 2, "report compare takes no --month"),
    (["compare", "FILE", "--sql"], 2, "report compare takes no --sql"),
    (["compare", "FILE", "--json", "--csv"], 2, "choose one of --json and --csv"),
    (["charges", "--only", "unexplained"], 2, "--only is of report compare"),
    (["compare", "FILE", "FILE"], 2, "has days of another file; give the newer of the two alone"),
    (["compare", "missing.txt"], 3, "could not open missing.txt: No such file"),
    (["compare", "/"], 3, "could not read /: Is a directory"),
    (["compare", "/dev/null"], 1, "/dev/null, line 0: the file has no rows"),
    (["compare", "config.json"], 1, "config.json, line 1: neither a detailed Financial report"),
  ]) func `a wrong question is refused with what is right`(
    _ arguments: [String], _ code: Int32, _ reason: String
  ) throws {
    let installation = try world()
    let path = try file(installation, Self.header + row("2026-07-20"))
    let arguments = ["report"] + arguments.map { $0 == "FILE" ? path : $0 }
    let finished = try installation.run(arguments)
    #expect(finished.code == code && finished.errors.contains(reason), "\(finished)")
    #expect(finished.output.isEmpty)
  }

  @Test func `a gzip file that is cut anywhere is refused, and so is one of another file`() throws {
    let installation = try world()
    let path = try file(
      installation, Self.header + row("2026-07-20") + row("2026-07-28", units: -1, price: "4"))
    let gzip = try RunningCommand(
      [path], in: installation.folder, program: URL(filePath: "/usr/bin/gzip")
    ).finish()
    #expect(gzip.code == 0)
    let whole = try Data(contentsOf: URL(filePath: path + ".gz"))
    #expect(try installation.run("report", "compare", path + ".gz").code == 0)
    for count in [2, 20, whole.count / 2, whole.count - 1] {
      let cut = installation.folder.appending(path: "cut.txt.gz")
      try whole.prefix(count).write(to: cut)
      let result = try installation.run("report", "compare", cut.path)
      #expect(
        result.code == 1 && result.errors.contains("which is damaged")
          && result.errors.contains("download it again"), "\(count): \(result)")
    }
  }

  @Test func `^C ends a comparison that waits for its input`() throws {
    let installation = try world()
    let pipe = installation.folder.appending(path: "pipe").path
    #expect(mkfifo(pipe, 0o600) == 0)
    let holder = try #require(FileHandle(forUpdatingAtPath: pipe))
    try holder.write(contentsOf: Data((Self.header + row("2026-07-20")).utf8))
    let command = try installation.launch([
      "report", "compare", pipe, "--config", installation.config.path,
    ])
    try command.wait(20, "the pipe to be open") { command.descriptors.contains(pipe) }
    command.signal(SIGINT)
    #expect(try command.finish().code == 130)
    try holder.close()
  }

  @Test func `without rows the command says how they are made`() throws {
    let installation = try world()
    let path = try file(installation, Self.header + row("2026-07-20"))
    try FileManager.default.removeItem(at: installation.data.appending(path: "entitlements.sqlite"))
    let result = try installation.run("report", "compare", path)
    #expect(result.code == 3 && result.errors.contains("no rows were built yet"), "\(result)")
  }

  @Test func `the reports of a simulated fleet are those of what it sends`() throws {
    let installation = try Installation()
    let fleet = installation.folder.appending(path: "fleet.ndjson").path
    let authority = installation.folder.appending(path: "authority")
    let made = try installation.launch([
      "simulate", "run", "--fleet", "100", "--seed", "3", "--output", fleet, "--reports",
      installation.folder.path, "--authority", authority.path,
    ]).finish()
    #expect(made.code == 0, "\(made)")
    try installation.configure(with: [
      ("trustRoots", .array([.string(authority.appending(path: "root.der").path)]))
    ])
    #expect(try installation.run("ingest", fleet).code == 0)
    let files = ["financial.txt", "sales.txt"].map {
      installation.folder.appending(path: $0).path
    }
    let result = try installation.run(["report", "compare", "--json"] + files)
    let lines = try result.lines()
    #expect(result.code == 0 && lines.count > 20, "\(result)")
    let reasons = Set(lines.compactMap { $0["reason"]?.string })
    #expect(reasons.isSubset(of: ["price rounding"]), "\(reasons)")
  }
}
