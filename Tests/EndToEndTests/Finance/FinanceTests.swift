import AppStoreSimulator
import Foundation
import Platform
import StrictJSON
import Support
import Testing

/// The questions of the page about finance, as they are printed there, and the books.
@Suite struct FinanceTests {
  private static let day = Sample.day

  /// The queries of the page, in their order.
  private static func queries() throws -> [String] {
    let start = "subledger query \""
    return try DocumentationPage.operating("finance").blocks.filter { $0.hasPrefix(start) }
      .map { String($0.dropFirst(start.count).dropLast()) }
  }

  /// The lines of an answer: what is printed as an amount is in milliunits.
  private func answer(
    _ number: Int, _ installation: Installation, _ old: String = "",
    _ new: String = ""
  ) throws -> [String] {
    let query = try Self.queries()[number - 1].replacing(old.isEmpty ? "\u{0}" : old, with: new)
    let result = try installation.run("query", query, "--csv")
    guard result.code == 0 else { throw TestFailure("\(result)") }
    let text = try CSVText(result.output)
    return text.rows.map { row in
      text.columns.map { column in
        let value = row[column] ?? ""
        guard ["charged", "refunded", "net", "amount"].contains(column) else { return value }
        // A sum is empty where no price is known.
        return String(Int64(((Double(value) ?? 0) * 1000).rounded()))
      }.joined(separator: " ")
    }.sorted()
  }

  private func ingest(_ payloads: [(JSONValue, Int64)], _ installation: Installation) throws {
    let lines = try payloads.map { payload, time in
      Array("{\"received_at_ms\":\(time),\"body\":".utf8) + (try installation.sign(payload)) + [
        0x7D
      ]
    }
    let finished = try installation.run("ingest", try installation.file("books", lines))
    #expect(finished.code == 0, "\(finished)")
  }

  @Test func `the answers are those of the books of a simulated App Store`() throws {
    let installation = try Installation()
    let now = Int64(Date().timeIntervalSince1970 * 1000) - 60_000
    let seed = TestSeed.drawn
    var random = SplitMix64(seed: seed)
    let fleet = Fleet(
      app: SimulatedApp(), customers: TestCount.books.number, days: 800, end: now, seed: seed)
    // Some are lost; others come days late, or twice.
    var arrived: [(JSONValue, Int64)] = []
    var lost: [(JSONValue, Int64)] = []
    for notification in fleet.notifications() {
      if random.once(in: 40) {
        lost.append((notification.payload, now))
        continue
      }
      let late = random.once(in: 10) ? Int64(random.below(5)) * Self.day : 2_000
      arrived.append((notification.payload, min(now, notification.signedDate + late)))
      if random.once(in: 20) { arrived.append((notification.payload, now)) }
    }
    arrived.sort { $0.1 < $1.1 }
    try ingest(arrived, installation)
    let books = Books(arrived.map(\.0))
    func expect(_ number: Int, _ told: [String], _ old: String = "", _ new: String = "") throws {
      let found = try answer(number, installation, old, new)
      let missing = Set(told).subtracting(found).sorted()
      let wrong = Set(found).subtracting(told).sorted()
      #expect(
        found == told, "seed \(seed), question \(number) \(new): \(wrong), not \(missing)")
    }
    try expect(1, books.charged)
    try expect(2, books.refunded)
    try expect(3, books.net)
    try expect(4, books.trials)
    for month in ["2025-06", "2025-12", "2026-04", "2026-09"] {
      let date = try Date("\(month)-01T00:00:00Z", strategy: .iso8601)
      let time = Int64(date.timeIntervalSince1970 * 1000)
      try expect(6, books.running(at: time), "2026-09", month)
    }
    try expect(9, books.changes)
    for token in Set(books.purchases.compactMap(\.token)).sorted().prefix(5) {
      try expect(10, books.customer(token), "7e3fb204-2b0f-4b6a-9d8c-0a1b2c3d4e5f", token)
    }
    #expect(try installation.run("verify").code == 0)
    try checkMoments(arrived, installation, &random, seed)
    // What was lost comes at last: then the books know too what is due, gone, and at risk.
    try ingest(lost, installation)
    try checkNow(Books((arrived + lost).map(\.0)), installation, seed)
  }

  private func checkNow(_ books: Books, _ installation: Installation, _ seed: UInt64) throws {
    let questions: [(Int, (Int64) -> [String])] = [
      (1, { _ in books.charged }), (3, { _ in books.net }), (5, books.due(at:)),
      (7, { books.ended(in: Books.month(Self.monthStart($0) - 1), at: $0) }),
      (8, books.atRisk(at:)),
    ]
    for (number, told) in questions {
      // Again, where time alone changed the books meanwhile.
      var (before, found, after): ([String], [String], [String])
      repeat {
        before = told(Clock.now())
        found = try answer(number, installation)
        after = told(Clock.now())
      } while before != after
      #expect(
        found == before,
        """
        seed \(seed), question \(number): \(Set(found).subtracting(before).sorted()), not \
        \(Set(before).subtracting(found).sorted())
        """)
    }
  }

  /// When the month of a time began.
  private static func monthStart(_ time: Int64) -> Int64 {
    var utc = Calendar(identifier: .gregorian)
    utc.timeZone = .gmt
    let date = Date(timeIntervalSince1970: Double(time) / 1000)
    return Int64((utc.dateInterval(of: .month, for: date)?.start ?? date).timeIntervalSince1970)
      * 1000
  }

  /// A customer's purchases as of earlier times, by both clocks.
  private func checkMoments(
    _ arrived: [(payload: JSONValue, at: Int64)], _ installation: Installation,
    _ random: inout SplitMix64, _ seed: UInt64
  ) throws {
    let daemon = try installation.start()
    let streams = Books(arrived.map(\.payload)).streams.keys.sorted()
    for _ in 0..<40 {
      let stream = streams[Int(random.below(Int64(streams.count)))]
      let moment = arrived[Int(random.below(Int64(arrived.count)))].at
      for clock in ["as_of", "known_at"] {
        let known = arrived.filter {
          clock == "as_of" ? $0.payload.number("signedDate") ?? 0 <= moment : $0.at <= moment
        }
        let own = Books(known.map(\.payload)).streams[stream] ?? []
        let path = "/v1/entitlements/\(stream)/transactions?\(clock)=\(moment)"
        let listed = daemon.client().get(path)?.json?["items"]?.elements ?? []
        func sum(_ amount: (JSONElement) -> Int64?) -> Int64 {
          listed.reduce(0) { $0 + (amount($1) ?? 0) }
        }
        #expect(listed.count == own.count, "seed \(seed): \(path)")
        #expect(
          sum { $0["price"]?["milliunits"]?.integer } == own.reduce(0) { $0 + $1.price },
          "seed \(seed): \(path)")
        #expect(
          sum { $0["refunded"]?.integer } == own.reduce(0) { $0 + $1.refund },
          "seed \(seed): \(path)")
      }
    }
    #expect(try daemon.stop().code == 0)
  }

  @Test func `a mirror gives the same answers in PostgreSQL`() throws {
    let world = try MirrorWorld()
    try world.installation.live(customers: 60, days: 300)
    let daemon = try world.installation.start()
    try world.waitUntilCurrent(daemon)
    let token = try world.sql(
      "SELECT max(app_account_token) FROM ledger.transaction_v1 WHERE price_milliunits > 0")
    let queries = try Self.queries()
    let others = try DocumentationPage.operating("finance").blocks.filter {
      $0.hasPrefix("SELECT")
    }
    #expect(queries.count == 10 && others.count == 10)
    for (query, other) in zip(queries, others) {
      let texts = [query, other.replacing("subledger.", with: "ledger.")].map {
        $0.replacing("7e3fb204-2b0f-4b6a-9d8c-0a1b2c3d4e5f", with: token)
      }
      let result = try world.installation.run("query", texts[0], "--csv")
      let here = try CSVText(result.output)
      let lines = here.rows.map { row in here.columns.map { Self.cell(row[$0] ?? "") } }
      let there = try world.sql(texts[1]).split(separator: "\n").map { line in
        line.split(separator: "|", omittingEmptySubsequences: false).map { Self.cell(String($0)) }
      }
      #expect(Set(lines) == Set(there) && lines.count == there.count, "\(query)")
    }
    let described = try world.sql(
      """
      SELECT count(*) FROM information_schema.columns
      WHERE table_schema = 'ledger' AND table_name = 'transaction_v1'
      AND col_description('ledger.transaction_v1'::regclass, ordinal_position) IS NULL
      """)
    #expect(described == "0")
    #expect(try daemon.stop().code == 0)
  }

  /// A number is printed with another count of decimals by each database.
  private static func cell(_ text: String) -> String {
    Double(text).map { String(Int64(($0 * 1000).rounded())) } ?? text
  }

  // MARK: By hand

  private func purchase(
    _ number: Int, of customer: Int, _ product: String, price: Int64, bought: Int64, days: Int64,
    _ type: String = "DID_RENEW", signed: Int64? = nil, _ more: [(String, JSONValue)] = []
  ) -> (JSONValue, Int64) {
    let all: [(String, JSONValue)] = [
      ("purchaseDate", .integer(bought)), ("expiresDate", .integer(bought + days * Self.day)),
      ("price", .integer(price)), ("currency", .string("EUR")), ("productId", .string(product)),
      ("transactionReason", .string(type == "DID_RENEW" ? "RENEWAL" : "PURCHASE")),
      ("transactionId", .string("\(customer)\(number)")),
      ("webOrderLineItemId", .string("5\(customer)\(number)")),
    ]
    let date = signed ?? bought
    let notification = Sample.notification(
      customer * 100 + number + Int(date % 1000), otid: "\(7000 + customer)", type: type)
    return (
      (all + more).reduce(notification.dated(date)) {
        $0.setting("data.transaction.\($1.0)", $1.1)
      },
      date
    )
  }

  private static func time(_ text: String) throws -> Int64 {
    Int64(try Date("\(text)T00:00:00Z", strategy: .iso8601).timeIntervalSince1970 * 1000)
  }

  /// January: 10.00 + 10.00 + 60.00 = 80.00; February: 10.00. 40 % of 10.00 are given back in
  /// February, and 60.00 in March: 80.00, 10.00 - 4.00 = 6.00, and -60.00.
  @Test func `charges less refunds, of three customers by hand`() throws {
    let installation = try Installation()
    let (january, february) = (try Self.time("2026-01-10"), try Self.time("2026-02-10"))
    let back = [
      ("revocationDate", JSONValue.integer(february + 1)),
      ("revocationPercentage", .integer(40_000)),
    ]
    let all = [("revocationDate", JSONValue.integer(february + 30 * Self.day))]
    try ingest(
      [
        purchase(1, of: 1, "pro", price: 10_000, bought: january, days: 31, "SUBSCRIBED"),
        purchase(1, of: 2, "pro", price: 10_000, bought: january, days: 31, "SUBSCRIBED"),
        purchase(1, of: 3, "year", price: 60_000, bought: january, days: 365, "SUBSCRIBED"),
        purchase(2, of: 1, "pro", price: 10_000, bought: february, days: 28),
        purchase(
          1, of: 2, "pro", price: 10_000, bought: january, days: 31, "REFUND", signed: february + 1,
          back),
        purchase(
          1, of: 3, "year", price: 60_000, bought: january, days: 365, "REFUND",
          signed: february + 30 * Self.day + 2, all),
      ], installation)
    #expect(try answer(1, installation) == ["2026-01 EUR 3 80000", "2026-02 EUR 1 10000"])
    #expect(
      try answer(2, installation) == ["2026-02 2026-01 EUR 1 4000", "2026-03 2026-01 EUR 1 60000"])
    #expect(
      try answer(3, installation) == [
        "2026-01 EUR 80000", "2026-02 EUR 6000", "2026-03 EUR -60000",
      ])
  }

  /// Two trials in January, of which one is paid for later; one of them upgrades in February, five
  /// days into a month, and goes back to the smaller product with its renewal in March.
  @Test func `trials and changes of the product, of two customers by hand`() throws {
    let installation = try Installation()
    let january = try Self.time("2026-01-10")
    let trial: [(String, JSONValue)] = [
      ("offerType", .integer(1)), ("offerDiscountType", .string("FREE_TRIAL")),
    ]
    let (paid, upgraded) = (january + 7 * Self.day, january + 30 * Self.day)
    try ingest(
      [
        purchase(1, of: 1, "basic", price: 0, bought: january, days: 7, "SUBSCRIBED", trial),
        purchase(1, of: 2, "basic", price: 0, bought: january, days: 7, "SUBSCRIBED", trial),
        purchase(2, of: 1, "basic", price: 5_000, bought: paid, days: 31),
        purchase(
          3, of: 1, "pro", price: 10_000, bought: upgraded, days: 31, "DID_CHANGE_RENEWAL_PREF"),
        purchase(4, of: 1, "basic", price: 5_000, bought: upgraded + 31 * Self.day, days: 31),
      ], installation)
    #expect(try answer(4, installation) == ["2026-01 2 1"])
    #expect(
      try answer(9, installation) == [
        "2026-02 upgrade basic pro 1", "2026-03 at renewal pro basic 1",
      ])
    #expect(
      try answer(6, installation, "2026-09-01", "2026-02-15") == ["pro 1"])
  }

  /// One that renews in ten days for 10.00, one whose charge fails, for 5.00, and one that ended
  /// last month because the customer switched renewal off.
  @Test func `what is due, at risk and gone, of three customers by hand`() throws {
    let installation = try Installation()
    let now = Clock.now()
    let gone = Self.monthStart(now) - 10 * Self.day
    let (due, failed) = (now + 10 * Self.day, now - 2 * Self.day)
    var off = purchase(
      1, of: 3, "pro", price: 10_000, bought: gone - 30 * Self.day, days: 30, "SUBSCRIBED")
    off.0 = off.0.setting("data.renewalInfo.autoRenewStatus", .integer(0))
    var retry = purchase(
      1, of: 2, "basic", price: 5_000, bought: failed - 30 * Self.day, days: 30,
      "DID_FAIL_TO_RENEW", signed: failed + 1_000)
    retry.0 = retry.0.setting("data.renewalInfo.isInBillingRetryPeriod", .boolean(true))
      .setting("data.renewalInfo.expirationIntent", .integer(2))
      .setting("data.status", .integer(3))
    try ingest(
      [
        off, purchase(1, of: 1, "pro", price: 10_000, bought: due - 30 * Self.day, days: 30), retry,
      ].map { ($0.0.setting("data.renewalInfo.renewalDate", nil), $0.1) }, installation)
    let date = Date(timeIntervalSince1970: Double(due) / 1000).ISO8601Format().prefix(10)
    #expect(try answer(5, installation) == ["\(date) EUR 1 10000"])
    #expect(try answer(8, installation) == ["billing_retry EUR 1 5000"])
    #expect(try answer(7, installation).contains("switched off 1"))
  }
}
