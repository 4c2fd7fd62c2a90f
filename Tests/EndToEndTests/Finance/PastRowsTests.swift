import AppStoreSimulator
import Foundation
import Platform
import StrictJSON
import Support
import Testing

/// `--known-at` of `query` and `report`: rows as they were known at a moment.
@Suite struct PastRowsTests {
  /// Two ledgers were sent other signatures of the same.
  private static let views = [
    "journal_v1":
      "seq, notification_uuid, source, environment, original_transaction_id, received_at_ms",
    "entitlement_v1": "*", "entitlement_span_v1": "*", "transaction_v1": "*", "refund_v1": "*",
    "refund_request_v1": "*",
  ]

  /// What each view has, one line per row, in no order.
  private func contents(
    _ installation: Installation, _ more: [String] = []
  ) throws -> [String: [String]] {
    try Dictionary(
      uniqueKeysWithValues: Self.views.map { view, columns in
        let sql = "SELECT \(columns) FROM \(view)"
        let result = try installation.run(["query", sql, "--csv"] + more)
        guard result.code == 0 else { throw TestFailure("\(view): \(result)") }
        return (view, result.output.split(separator: "\n").map(String.init).sorted())
      })
  }

  private func text(_ time: Int64) -> String { Timestamp.text(time) }

  /// What simulated customers do, with when each arrived: some late, some twice.
  private func arrivals(_ seed: UInt64, end: Int64) throws -> [(JSONValue, Int64)] {
    var random = SplitMix64(seed: seed)
    var fleet = Fleet(app: SimulatedApp(), customers: 60, days: 400, end: end, seed: seed)
    fleet.lifecycles = Lifecycle.all
    return fleet.notifications().flatMap { notification in
      let late = random.once(in: 5) ? Int64(random.below(40)) * Sample.day : 2_000
      let first = (notification.payload, min(end, notification.signedDate + late))
      return random.once(in: 10) ? [first, (notification.payload, end)] : [first]
    }.sorted { $0.1 < $1.1 }
  }

  @Test func `rows as known at a moment are those that a ledger had then`() throws {
    let end = Int64(Date().timeIntervalSince1970 * 1000) - 3_600_000
    let seed = TestSeed.drawn
    let arrivals = try arrivals(seed, end: end)
    let whole = try Installation()
    try Finance.ingest(arrivals, whole)
    var random = SplitMix64(seed: seed &+ 1)
    // Before the first event there is nothing but names.
    let before = try contents(whole, ["--known-at", text(arrivals[0].1 - 1)])
    #expect(before.values.allSatisfy { $0.count == 1 }, "seed \(seed)")
    let moments =
      [arrivals[0].1, end - 1]
      + (0..<2).map { _ in
        end - Int64(random.below(380)) * Sample.day - 1
      }
    for moment in moments {
      let former = try Installation()
      let clock = try former.adjustClock()
      // It goes on within a minute of the moment, in which nothing ends.
      try clock.set(aheadBy: moment - Int64(Date().timeIntervalSince1970 * 1000))
      try Finance.ingest(arrivals.filter { $0.1 <= moment }, former)
      let found = try contents(whole, ["--known-at", text(moment)])
      for (view, lines) in try contents(former) {
        #expect(found[view] == lines, "\(view) at \(text(moment)), seed \(seed)")
      }
    }
  }

  @Test func `the present of the views is the moment, or another that is given`() throws {
    let installation = try Installation()
    let start = Sample.start
    try Finance.ingest([(Sample.notification(1), start + 2_000)], installation)
    func access(_ more: String...) throws -> String {
      let sql = "SELECT gives_access, julianday('2026-01-01') = 2461041.5 FROM entitlement_v1"
      return try installation.run(["query", sql, "--csv"] + more).output
    }
    let known = ["--known-at", text(start + 60_000)]
    #expect(try access() == "gives_access,julianday('2026-01-01') = 2461041.5\n0,1\n")
    #expect(try access(known[0], known[1]).hasSuffix("\n1,1\n"))
    let later = text(start + 400 * Sample.day)
    #expect(try access(known[0], known[1], "--as-of", later).hasSuffix("\n0,1\n"))
    #expect(try access("--known-at", text(start)).hasSuffix("2461041.5\n"))
  }

  @Test func `a report is answered as it was known`() throws {
    let installation = try Installation()
    let end = try Finance.time("2026-09-01")
    try Finance.ingest(try arrivals(7, end: end), installation)
    let month = ["--month", "2026-06", "--csv"]
    let now = try installation.run(["report", "charges"] + month)
    let known = ["--known-at", "2026-06-20T00:00:00Z"]
    let then = try installation.run(["report", "charges"] + month + known)
    #expect(now.code == 0 && then.code == 0 && now.output != then.output, "\(then)")
    let sql = try installation.run(["report", "charges", "--month", "2026-06", "--sql"]).output
    #expect(try installation.run(["query", sql, "--csv"] + known).output == then.output)
    // The difference: its lines, its purchases, and what was received of them since.
    let compared = try installation.run(
      ["report", "charges", "--month", "2026-06", "--json", "--compare", known[1]])
    let lines = try compared.output.split(separator: "\n").map {
      try JSONDocument(parsing: Array($0.utf8)).root
    }
    func count(_ kind: String, _ side: String) -> Int {
      lines.count { $0["kind"]?.string == kind && $0["side"]?.string == side }
    }
    let (before, after) = (
      Set(then.output.split(separator: "\n")), Set(now.output.split(separator: "\n"))
    )
    #expect(count("line", "before") == before.subtracting(after).count, "\(compared)")
    #expect(count("line", "after") == after.subtracting(before).count, "\(compared)")
    let streams = { (kind: String) in
      Set(
        lines.filter { $0["kind"]?.string == kind }.compactMap {
          $0["original_transaction_id"]?.string
        })
    }
    #expect(!streams("event").isEmpty && streams("purchase") == streams("event"), "\(compared)")
    let table = try installation.run(["report", "charges", "--compare", known[1]])
    #expect(table.output.contains("Purchases that differ: "), "\(table)")
    let same = try installation.run(
      ["report", "charges", "--compare", "2026-06-20T00:00:00Z", "--known-at", text(end)])
    #expect(same.code == 0 && same.output.contains("Lines of the report that differ: "))
    // What is usual is the day that was then.
    let due = try installation.run(["report", "subscriptions", "--sql"] + known)
    #expect(due.output.contains("2026-06-20"), "\(due)")
  }

  @Test func `what is of now alone, and what is no moment of the past, is refused`() throws {
    let installation = try Installation()
    try Finance.ingest([(Sample.notification(1), Sample.start + 2_000)], installation)
    let known = ["--known-at", text(Sample.start + 60_000)]
    let table: [([String], String)] = [
      (["SELECT * FROM quarantine_v1"] + known, "quarantine_v1 is of now alone"),
      (
        ["SELECT * FROM customer_entitlement_v1"] + known,
        "`subledger customer ID --known-at T` answers for one customer"
      ),
      (["SELECT * FROM journal.journal_v1"] + known, "only SELECT is allowed"),
      (["SELECT * FROM entitlements.entitlement"] + known, "only SELECT is allowed"),
      (["SELECT 1", "--known-at", "2100-01-01T00:00:00Z"], "--known-at takes a time that is over"),
      (["SELECT 1", "--known-at", "yesterday"], "--known-at takes RFC 3339 or milliseconds"),
      (["SELECT 1", "--as-of", "2026-01-01T00:00:00Z"], "--as-of goes with --known-at"),
      (["charges", "--compare", "2100-01-01T00:00:00Z"], "--compare takes a time before"),
      (["charges", "--compare", known[1]] + known, "--compare takes a time before"),
      (["charges", "--compare", known[1], "--csv"], "--compare prints tables"),
    ]
    for (arguments, text) in table {
      let command = arguments[0].hasPrefix("SELECT") ? "query" : "report"
      let result = try installation.run([command] + arguments)
      #expect(result.code == 2 && result.errors.contains(text), "\(arguments): \(result)")
    }
  }

  @Test func `three are kept and found again, and a damaged one is built anew`() throws {
    let installation = try Installation()
    let arrivals = (0..<6).map {
      (Sample.notification($0, otid: "\(7_000 + $0)"), Sample.start + Int64($0) * 60_000)
    }
    try Finance.ingest(arrivals, installation)
    let daemon = try installation.start()
    func kept() throws -> [String] {
      try FileManager.default.contentsOfDirectory(atPath: installation.data.path)
        .filter { $0.hasPrefix("past") && $0 != "past.lock" }.sorted()
    }
    func count(_ number: Int) throws -> String {
      let known = text(Sample.start + Int64(number) * 60_000)
      let result = try installation.run(
        "query", "SELECT count(*) FROM entitlement_v1", "--csv", "--known-at", known)
      #expect(result.code == 0, "\(result)")
      return result.output
    }
    for number in 0..<5 { #expect(try count(number) == "count(*)\n\(number + 1)\n") }
    let names = try kept()
    #expect(names.count == 3 && names.allSatisfy { $0.hasSuffix(".sqlite") }, "\(names)")
    // Another moment with the same last event is no other file.
    let before = try Data(contentsOf: installation.data.appending(path: names[2]))
    #expect(try count(4) == "count(*)\n5\n" && kept() == names)
    // One that is damaged is built again.
    try Data("no database".utf8).write(to: installation.data.appending(path: names[2]))
    #expect(try count(4) == "count(*)\n5\n" && kept() == names)
    #expect(try Data(contentsOf: installation.data.appending(path: names[2])).count == before.count)
    // While another question builds, the next is asked to wait.
    do {
      let path = installation.data.appending(path: "past.lock").path
      let lock = try FolderLock.acquire(path)
      #expect(try FolderLock.isLocked(path))
      defer { withExtendedLifetime(lock) {} }
      let result = try installation.run(
        "query", "SELECT 1", "--known-at", text(Sample.start))
      #expect(result.code == 3 && result.errors.contains("ask again"), "\(result)")
    }
    // What a crash left behind is removed by the next question.
    try Data("x".utf8).write(to: installation.data.appending(path: "past.building"))
    #expect(try count(1) == "count(*)\n2\n" && !kept().contains("past.building"))
    #expect(try daemon.stop().code == 0)
  }
}
