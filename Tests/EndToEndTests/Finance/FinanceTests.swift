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
    let lines = try payloads.sorted { $0.1 < $1.1 }.map { payload, time in
      Array("{\"received_at_ms\":\(time),\"body\":".utf8) + (try installation.sign(payload)) + [
        0x7D
      ]
    }
    let finished = try installation.run("ingest", try installation.file("books", lines))
    #expect(finished.code == 0, "\(finished)")
  }

  /// Each question's query, and the answer that the page prints below it.
  private static func printed() throws -> [(query: String, answer: String?)] {
    let start = "subledger query \""
    var found: [(query: String, answer: String?)] = []
    for block in try DocumentationPage.operating("finance").blocks {
      if block.hasPrefix(start) {
        found.append((String(block.dropFirst(start.count).dropLast()), nil))
      } else if !block.hasPrefix("SELECT"), !found.isEmpty {
        found[found.count - 1].answer = block
      }
    }
    return found
  }

  @Test func `the page prints what its simulated customers give`() throws {
    let installation = try Installation()
    let fleet = Fleet(
      app: SimulatedApp(), customers: 2_000, days: 400, end: try Self.time("2026-09-01"), seed: 5)
    try ingest(fleet.notifications().map { ($0.payload, $0.signedDate) }, installation)
    let printed = try Self.printed()
    // What is due and at risk depends on the day on which it is asked.
    #expect(printed.indices.filter { printed[$0].answer == nil } == [4, 7])
    for (query, answer) in printed {
      guard let answer else { continue }
      let asked = query.replacing(
        "unixepoch('now', 'start of month', '-1 month')", with: "unixepoch('2026-08-01')"
      ).replacing("unixepoch('now', 'start of month')", with: "unixepoch('2026-09-01')")
      let result = try installation.run("query", asked)
      #expect(result.output.hasPrefix(answer + "\n"), "\(query): \(result.output.prefix(1_000))")
    }
  }

  @Test func `the answers are those of the books of a simulated App Store`() throws {
    let installation = try Installation()
    let now = Int64(Date().timeIntervalSince1970 * 1000) - 60_000
    let seed = TestSeed.drawn
    var random = SplitMix64(seed: seed)
    var fleet = Fleet(
      app: SimulatedApp(), customers: TestCount.books.number, days: 800, end: now, seed: seed)
    // Teams, families and purchases of the Advanced Commerce API too, and a sandbox.
    fleet.lifecycles = (0...fleet.customers / 200).flatMap { _ in Lifecycle.all }
    var sandbox = fleet
    sandbox.app.environment = "Sandbox"
    sandbox.first = 300_000
    sandbox.customers /= 10
    sandbox.lifecycles = []
    // Some are lost; others come days late, or twice.
    var arrived: [(JSONValue, Int64)] = []
    var lost: [(JSONValue, Int64)] = []
    for notification in fleet.notifications() + sandbox.notifications() {
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
    try expect(4, books.trials(at: now))
    for month in ["2025-06", "2025-12", "2026-04", "2026-09"] {
      let date = try Date("\(month)-01T00:00:00Z", strategy: .iso8601)
      let time = Int64(date.timeIntervalSince1970 * 1000)
      try expect(6, books.running(at: time), "2026-09", month)
    }
    try expect(9, books.changes)
    for token in Set(books.purchases.compactMap(\.token)).sorted().prefix(5) {
      try expect(10, books.customer(token), "29d2418e-ea95-4508-906f-8ee14f585de7", token)
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
        $0.replacing("29d2418e-ea95-4508-906f-8ee14f585de7", with: token)
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
      customer * 100 + number + Int(date % 1000) + Int(date / Self.day % 1000) * 10_000,
      otid: "\(7000 + customer)", type: type)
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
    #expect(try answer(1, installation) == ["2026-01 EUR 3 80000 0", "2026-02 EUR 1 10000 0"])
    #expect(
      try answer(2, installation) == [
        "2026-02 2026-01 EUR 1 4000 0 0", "2026-03 2026-01 EUR 1 60000 0 0",
      ])
    #expect(
      try answer(3, installation) == [
        "2026-01 EUR 80000 0", "2026-02 EUR 6000 0", "2026-03 EUR -60000 0",
      ])
  }

  /// 5.00 of 14.97 are given back in June and 4.98 more in July, as Apple's shares are of all that
  /// was given back by then; in August Apple takes all of it again. A refund without a share is of
  /// an amount that nobody knows, and a family member pays nothing.
  @Test func `refunds and reversals stay in their months, by hand`() throws {
    let installation = try Installation()
    let may = try Self.time("2026-05-10")
    let (june, july) = (try Self.time("2026-06-10"), try Self.time("2026-07-10"))
    let august = try Self.time("2026-08-10")
    func refund(_ date: Int64, _ share: Int64?) -> [(String, JSONValue)] {
      [
        ("revocationDate", .integer(date)), ("revocationType", .string("REFUND_PRORATED")),
        ("revocationPercentage", .optional(share)),
      ]
    }
    let family: [(String, JSONValue)] = [("inAppOwnershipType", .string("FAMILY_SHARED"))]
    try ingest(
      [
        purchase(1, of: 1, "pro", price: 14_970, bought: may, days: 365, "SUBSCRIBED"),
        purchase(
          1, of: 1, "pro", price: 14_970, bought: may, days: 365, "REFUND", signed: june + 1,
          refund(june, 33_400)),
        purchase(
          1, of: 1, "pro", price: 14_970, bought: may, days: 365, "REFUND", signed: july + 2,
          refund(july, 66_667)),
        purchase(1, of: 2, "pro", price: 9_990, bought: may, days: 365, "SUBSCRIBED"),
        purchase(
          1, of: 2, "pro", price: 9_990, bought: may, days: 365, "REFUND", signed: june + 4,
          refund(june, nil)),
        purchase(1, of: 3, "pro", price: 9_990, bought: may, days: 365, "SUBSCRIBED", family),
        purchase(
          1, of: 3, "pro", price: 9_990, bought: may, days: 365, "REVOKE", signed: june + 5,
          family + [
            ("revocationDate", .integer(june)), ("revocationType", .string("FAMILY_REVOKE")),
          ]),
      ], installation)
    #expect(try answer(1, installation) == ["2026-05 EUR 2 24960 0"])
    let before = ["2026-06 2026-05 EUR 2 5000 0 1", "2026-07 2026-05 EUR 1 4980 0 0"]
    #expect(try answer(2, installation) == before)
    try ingest(
      [
        purchase(
          1, of: 1, "pro", price: 14_970, bought: may, days: 365, "REFUND_REVERSED",
          signed: august)
      ], installation)
    let after = try answer(2, installation)
    #expect(after == before + ["2026-08 2026-05 EUR 0 -9980 1 0"])
    #expect(
      try answer(3, installation) == [
        "2026-05 EUR 24960 0", "2026-06 EUR -5000 1", "2026-07 EUR -4980 0",
        "2026-08 EUR 9980 0",
      ])
    #expect(try installation.run("verify").code == 0)
  }

  /// Who buys for a family of six pays 9.99, and the charge for the next month fails: the five
  /// others paid nothing and have no charge. A team pays 5 x 3.00 = 15.00, and four of its seats
  /// are streams of their own. The sandbox's 99.99 is nobody's money. 9.99 + 15.00 = 24.99.
  @Test func `a family, a team and the sandbox count what customers paid, by hand`() throws {
    let installation = try Installation()
    let now = Clock.now()
    let ends = Self.monthStart(now) - 2 * Self.day
    let bought = ends - 20 * Self.day
    let token = "29d2418e-ea95-4508-906f-8ee14f585de7"
    func owned(_ ownership: String) -> [(String, JSONValue)] {
      [("inAppOwnershipType", .string(ownership)), ("appAccountToken", .string(token))]
    }
    func seats(_ ownership: String) -> [(String, JSONValue)] {
      let tier = JSONValue.object([("price", .integer(3_000)), ("quantity", .integer(5))])
      return owned(ownership) + [
        ("quantity", .integer(ownership == "PURCHASED" ? 5 : 1)),
        ("multiSeatInfo", .object([("priceTiers", .array([tier]))])),
      ]
    }
    var all: [(JSONValue, Int64)] = []
    for member in 1...6 {
      var failed = purchase(
        1, of: member, "family", price: 9_990, bought: bought, days: 20, "DID_FAIL_TO_RENEW",
        signed: ends + 1_000 + Int64(member), owned(member == 1 ? "PURCHASED" : "FAMILY_SHARED"))
      failed.0 = failed.0.setting("data.renewalInfo.isInBillingRetryPeriod", .boolean(true))
        .setting("data.renewalInfo.expirationIntent", .integer(2))
        .setting("data.renewalInfo.productId", .string("family"))
        .setting("data.renewalInfo.autoRenewProductId", .string("family"))
        .setting("data.renewalInfo.renewalDate", nil).setting("data.status", .integer(3))
      all.append(failed)
    }
    for member in 11...15 {
      all.append(
        purchase(
          1, of: member, "team", price: 3_000, bought: bought, days: 365, "SUBSCRIBED",
          signed: bought + Int64(member), seats(member == 11 ? "PURCHASED" : "ASSIGNED")))
    }
    var sandbox = purchase(
      1, of: 21, "family", price: 99_990, bought: bought, days: 365, "SUBSCRIBED",
      signed: bought + 21, owned("PURCHASED") + [("environment", .string("Sandbox"))])
    sandbox.0 = sandbox.0.setting("data.environment", .string("Sandbox"))
      .setting("data.renewalInfo.environment", .string("Sandbox"))
      .setting("data.appAppleId", nil)
    try ingest(all + [sandbox], installation)
    let month = Date(timeIntervalSince1970: Double(bought) / 1000).ISO8601Format().prefix(7)
    #expect(try answer(1, installation) == ["\(month) EUR 2 24990 0"])
    #expect(try answer(2, installation) == [])
    #expect(try answer(3, installation) == ["\(month) EUR 24990 0"])
    let day = Date(timeIntervalSince1970: Double(now) / 1000).ISO8601Format().prefix(10)
    #expect(try answer(6, installation, "2026-09-01", String(day)) == ["team 1"])
    #expect(try answer(7, installation) == ["charge fails, still tried 1"])
    #expect(try answer(8, installation) == ["billing_retry EUR 1 9990 1 0"])
    #expect(try answer(9, installation) == [])
    #expect(try answer(10, installation) == ["EUR 2 24990 0 0"])
    #expect(try installation.run("verify").code == 0)
  }

  /// A plan of a week for 1.99 is due in two days, and then each week: on days 2, 9, 16, 23 and 30
  /// but for the last, which is a moment too late.
  @Test func `a plan of a week is due each week`() throws {
    let installation = try Installation()
    let due = Clock.now() + 2 * Self.day + 60_000
    try ingest(
      [purchase(1, of: 1, "week", price: 1_990, bought: due - 7 * Self.day, days: 7)].map {
        (
          $0.0.setting("data.renewalInfo.renewalDate", nil)
            .setting("data.renewalInfo.productId", .string("week"))
            .setting("data.renewalInfo.autoRenewProductId", .string("week")), $0.1
        )
      }, installation)
    let days = [0, 7, 14, 21].map { number in
      let date = Date(timeIntervalSince1970: Double(due) / 1000 + Double(number) * 86_400)
      return "\(date.ISO8601Format().prefix(10)) EUR 1 1990 1 0"
    }
    let found = try answer(5, installation)
    #expect(found == days)
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
    #expect(try answer(4, installation) == ["2026-01 2 1 0 0 0"])
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
    #expect(try answer(5, installation) == ["\(date) EUR 1 10000 1 0"])
    #expect(try answer(8, installation) == ["billing_retry EUR 1 5000 1 0"])
    #expect(try answer(7, installation).contains("switched off 1"))
  }

  /// Twelve payments of 10.00. The eleventh runs until tomorrow, and the twelfth is due; of another
  /// customer the twelfth runs, and he does not commit himself again.
  @Test func `the last payment of a commitment is not due again`() throws {
    let installation = try Installation()
    let due = Clock.now() + Self.day
    try ingest(
      [(1, 11), (2, 12)].map { (customer: Int, number: Int64) in
        let commitment: [(String, JSONValue)] = [
          ("billingPeriodNumber", .integer(number)), ("totalBillingPeriods", .integer(12)),
          ("commitmentExpiresDate", .integer(due + (12 - number) * 30 * Self.day)),
        ]
        let (payload, signed) = purchase(
          1, of: customer, "pro", price: 10_000, bought: due - 30 * Self.day, days: 30, "DID_RENEW",
          [("commitmentInfo", .object(commitment)), ("billingPlanType", .string("MONTHLY"))])
        let next = JSONValue.object([("commitmentAutoRenewStatus", .integer(0))])
        return (
          payload.setting("data.renewalInfo.commitmentInfo", next)
            .setting("data.renewalInfo.renewalDate", nil)
            .setting("data.renewalInfo.productId", .string("pro"))
            .setting("data.renewalInfo.autoRenewProductId", .string("pro")), signed
        )
      }, installation)
    let day = Date(timeIntervalSince1970: Double(due) / 1000).ISO8601Format().prefix(10)
    #expect(try answer(5, installation) == ["\(day) EUR 1 10000 1 0"])
  }

  /// A free week from 10 January, and a month from the 17th, which cost something.
  @Test func `what version 1 alone told counts without a price`() throws {
    let installation = try Installation()
    let secret = installation.folder.appending(path: "v1.secret")
    try Data((ScenarioRun.secretV1 + "\n").utf8).write(to: secret)
    chmod(secret.path, 0o600)
    try installation.configure(
      apps: [Installation.app().setting("v1SharedSecretFile", .string(secret.path))])
    let trial = try Self.time("2026-01-10")
    let paid = trial + 7 * Self.day
    func purchase(_ id: String, _ bought: Int64, days: Int64, isTrial: Bool) -> JSONValue {
      .object([
        ("transaction_id", .string(id)), ("original_transaction_id", .string("7300")),
        ("product_id", .string("pro")), ("quantity", .string("1")),
        ("purchase_date_ms", .string("\(bought)")),
        ("original_purchase_date_ms", .string("\(trial)")),
        ("expires_date_ms", .string("\(bought + days * Self.day)")),
        ("is_trial_period", .string(isTrial ? "true" : "false")),
        ("web_order_line_item_id", .string("5\(id)")),
        ("in_app_ownership_type", .string("PURCHASED")),
        ("subscription_group_identifier", .string("20500001")),
      ])
    }
    let told = [
      purchase("7301", paid, days: 31, isTrial: false),
      purchase("7300", trial, days: 7, isTrial: true),
    ]
    let body = JSONValue.object([
      ("notification_type", .string("DID_RENEW")), ("password", .string(ScenarioRun.secretV1)),
      ("environment", .string("PROD")), ("bid", .string("com.example.app")),
      ("original_transaction_id", .string("7300")),
      (
        "unified_receipt",
        .object([
          ("environment", .string("Production")), ("latest_receipt_info", .array(told)),
        ])
      ),
    ])
    let line = Array("{\"received_at_ms\":\(paid),\"body\":".utf8) + body.bytes + [0x7D]
    let finished = try installation.run("ingest", try installation.file("v1", [line]))
    #expect(finished.code == 0, "\(finished)")
    #expect(try answer(1, installation) == ["2026-01  1 0 1"])
    #expect(try answer(3, installation) == ["2026-01  0 1"])
    #expect(try answer(4, installation) == ["2026-01 1 1 0 0 0"])
  }
}
