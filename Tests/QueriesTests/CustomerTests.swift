import AppStore
import Audit
import Entitlements
import Queries
import Store
import StrictJSON
import Support
import Testing

/// Lists of rows by account token, app transaction, product, status and app; and successors.
@Suite struct CustomerTests {
  private static let alice = "00000000-0000-4000-8000-00000000a11c"
  private static let token: [String: JSONValue] = [
    "appAccountToken": .string(alice), "appTransactionId": .string("700001"),
  ]

  /// Two rows of Alice, one of another customer, and one of another app with the same id as hers.
  private func customers() throws -> ScenarioLedger {
    var scenario = try ScenarioLedger(apps: ["com.example.other"])
    let received = "25-01-02"
    try scenario.send(
      "SUBSCRIBED", signed: "25-01-01", received: received, "1000 basic.m 25-01-01→25-02-01 bought",
      renewal: "renews basic.m 25-02-01", more: Self.token)
    try scenario.send(
      "ONE_TIME_CHARGE", signed: "25-01-01", received: received,
      "4000 lifetime 25-01-01 bought of 4000 non-consumable", more: Self.token)
    try scenario.send(
      "EXPIRED", signed: "25-01-08", received: received,
      "3000 basic.m 25-01-01→25-01-08 bought of 3000",
      renewal: "ends basic.m 25-01-08", status: 2, more: ["appTransactionId": .string("700002")])
    try scenario.send(
      "SUBSCRIBED", signed: "25-01-01", received: received, "1000 basic.m 25-01-01→25-02-01 bought",
      renewal: "renews basic.m 25-02-01", bundleId: "com.example.other",
      more: ["appTransactionId": .string("700003")])
    return scenario
  }

  @Test func `rows are found by app account token`() throws {
    let scenario = try customers()
    #expect(try scenario.ids { $0.appAccountToken = Self.alice } == ["1000", "4000"])
    #expect(try scenario.ids { $0.appAccountToken = "00000000-0000-4000-8000-000000000000" } == [])
    // Whether this customer has the product now.
    let has = try scenario.ids {
      $0.appAccountToken = Self.alice
      $0.productId = "lifetime"
      $0.statuses = [.active]
    }
    #expect(has == ["4000"])
  }

  @Test func `rows are found by app transaction, product, status and bundle id`() throws {
    let scenario = try customers()
    #expect(try scenario.ids { $0.appTransactionId = "700001" } == ["1000", "4000"])
    #expect(try scenario.ids { $0.appTransactionId = "700002" } == ["3000"])
    #expect(try scenario.ids { $0.productId = "basic.m" } == ["1000", "1000", "3000"])
    #expect(try scenario.ids { $0.statuses = [.expired] } == ["3000"])
    let later = try scenario.ids(now: "25-03-01") { $0.statuses = [.expired] }
    #expect(later == ["1000", "1000", "3000"])
    #expect(try scenario.ids { $0.statuses = [.expired, .active] }.count == 4)
    #expect(try scenario.ids { $0.bundleId = "com.example.other" } == ["1000"])
    #expect(try scenario.ids { $0.environment = "Sandbox" } == [])
    for limit in 1...5 { #expect(try scenario.ids(limit: limit).count == 4) }
  }

  @Test func `consumables give no access in lists and counts`() throws {
    var scenario = try customers()
    try scenario.send(
      "ONE_TIME_CHARGE", signed: "25-01-01", received: "25-01-02",
      "6000 coins 25-01-01 bought of 6000 consumable 3", more: Self.token)
    for now in ["25-01-20", "25-03-01"] {
      let access = try scenario.ids(now: now) { $0.givesAccess = true }
      let none = try scenario.ids(now: now) { $0.givesAccess = false }
      #expect(!access.contains("6000") && none.contains("6000"), "\(now)")
      #expect(access.contains("4000") && access.count + none.count == 5, "\(now)")
      let counts = try scenario.ledger.reader().counts(at: try ScenarioSyntax.date(now))
      let sums = counts.withoutAccess.values.compactMap { $0[.active] }
      #expect(sums == [1], "\(now)")
    }
  }

  /// No row is shown twice, and no row that existed at the start is left out.
  @Test func `pages stay consistent while rows are added`() throws {
    var scenario = try ScenarioLedger()
    func add(_ id: Int) throws {
      try scenario.send(
        "ONE_TIME_CHARGE", signed: "25-01-01", received: "25-01-02",
        "\(id) coins 25-01-01 bought of \(id) consumable 1", more: Self.token)
    }
    for id in stride(from: 1000, to: 1020, by: 2) { try add(id) }
    var filter = LedgerReader.Filter()
    filter.appAccountToken = Self.alice
    let question = LedgerReader.Question(now: try ScenarioSyntax.date("25-01-20"))
    var seen: [String] = []
    var after: StreamKey?
    var added = 1001
    repeat {
      let page = try scenario.ledger.reader().list(filter, after: after, limit: 3, question)
      seen += page.rows.map(\.key.originalTransactionId)
      after = page.next
      // One before the cursor, one after it.
      try add(added)
      try add(added + 900)
      added += 2
    } while after != nil
    #expect(Set(seen).count == seen.count && seen == seen.sorted())
    #expect(Set(stride(from: 1000, to: 1020, by: 2).map(String.init)).isSubset(of: seen))
  }

  // MARK: Successors and moved transactions

  @Test(arguments: [false, true])
  func `a migrated subscription names its successor and the list has both rows`(_ isReversed: Bool)
    throws
  {
    var scenario = try ScenarioLedger()
    let steps: [(inout ScenarioLedger) throws -> Void] = [
      {
        try $0.send(
          "SUBSCRIBED", signed: "25-01-01", received: "25-01-16",
          "1000 basic.m 25-01-01→25-02-01 bought", renewal: "renews basic.m 25-02-01",
          more: Self.token)
      },
      {
        try $0.send(
          "MIGRATION", signed: "25-01-15", received: "25-01-16",
          "5000 ac.generic 25-01-15→25-02-01 bought of 5000", renewal: "renews ac.generic 25-02-01",
          more: Self.token.merging(["previousOriginalTransactionId": .string("1000")]) { $1 })
      },
    ]
    for step in isReversed ? steps.reversed() : steps { try step(&scenario) }
    let now = try ScenarioSyntax.date("25-01-20")
    let old = try scenario.ledger.row("1000", now: now)
    #expect(old?.succeededBy == "5000" && old?.json["succeeded_by"]?.text == "\"5000\"")
    #expect(try scenario.ledger.row("5000", now: now)?.succeededBy == nil)
    #expect(
      try scenario.row("5000", now: "25-01-20") == "✓ active ac.generic until 25-02-01, renews")
    #expect(try scenario.ids { $0.appAccountToken = Self.alice } == ["1000", "5000"])
    // As of a time before the MIGRATION was signed there is no successor.
    let before = try scenario.ledger.row("1000", asOf: try ScenarioSyntax.date("25-01-14"))
    #expect(before != nil && before?.succeededBy == nil)
  }

  @Test func `a later predecessor changes no answer about the time before`() throws {
    var scenario = try ScenarioLedger()
    let previous = { (id: String) in
      Self.token.merging(["previousOriginalTransactionId": .string(id)]) { $1 }
    }
    for id in ["1000", "2000"] {
      try scenario.send(
        "SUBSCRIBED", signed: "25-01-01", received: "25-01-16",
        "\(id) basic.m 25-01-01→25-02-01 bought of \(id)", more: Self.token)
    }
    try scenario.send(
      "MIGRATION", signed: "25-01-15", received: "25-01-16",
      "5000 ac.generic 25-01-15→25-02-01 bought of 5000", more: previous("1000"))
    let asOf = try ScenarioSyntax.date("25-01-16")
    #expect(try scenario.ledger.row("1000", asOf: asOf)?.succeededBy == "5000")
    try scenario.send(
      "MIGRATION", signed: "25-01-17", received: "25-01-17",
      "5000 ac.generic 25-01-15→25-02-01 bought of 5000", more: previous("2000"))
    #expect(try scenario.ledger.row("1000", asOf: asOf)?.succeededBy == "5000")
    let now = try ScenarioSyntax.date("25-01-20")
    #expect(try scenario.ledger.row("1000", now: now)?.succeededBy == nil)
    #expect(try scenario.ledger.row("2000", now: now)?.succeededBy == "5000")
  }

  @Test(arguments: [[0, 1, 2], [2, 1, 0], [1, 2, 0]])
  func `a transaction that moves between original ids stays in both rows`(_ order: [Int]) throws {
    var scenario = try ScenarioLedger()
    let steps = [
      ("SUBSCRIBED", "25-01-01", "1000 basic.m 25-01-01→25-02-01 bought"),
      ("SUBSCRIBED", "25-03-01", "1001 basic.m 25-03-01→25-04-01 bought of 9000"),
      ("DID_RENEW", "25-03-20", "1001 basic.m 25-03-01→25-04-01 bought"),
    ]
    for index in order {
      let (type, signed, transaction) = steps[index]
      try scenario.send(type, signed: signed, received: "25-03-21", transaction, more: Self.token)
    }
    #expect(try scenario.row("9000", now: "25-03-25") == "✓ active basic.m until 25-04-01")
    #expect(try scenario.row("1000", now: "25-03-25") == "✓ active basic.m until 25-04-01")
    #expect(try scenario.row("1000", asOf: "25-03-10") == "✗ expired basic.m until 25-02-01")
    #expect(
      try scenario.ids(now: "25-03-25") { $0.appTransactionId = "700001" } == ["1000", "9000"])
    #expect(try scenario.ledger.verify().findings.isEmpty)
  }

  @Test func `two spellings of one letter in an id are two ids, also for verify`() throws {
    var scenario = try ScenarioLedger()
    for (number, id) in ["8\u{E9}", "8e\u{301}"].enumerated() {
      try scenario.send(
        "DID_RENEW", signed: "25-01-0\(number + 1)", received: "25-01-03",
        "1000 basic.m 25-01-01→25-02-01 bought", renewal: "renews basic.m 25-02-01",
        more: ["appTransactionId": .string(id)])
    }
    #expect(try scenario.ledger.verify().findings.isEmpty)
  }

  /// Two spellings of one accent, which `String` calls equal and SQL does not.
  private static let spellings = ["caf\u{E9}", "cafe\u{301}"]

  /// While the clock is behind the evaluated answers, each row is evaluated; else an index answers.
  @Test(arguments: 1...4)
  func `a list has one spelling of a product and of ids, evaluated or not`(limit: Int) throws {
    var scenario = try ScenarioLedger()
    var expected: [[[UInt8]]] = [[], []]
    for number in 0..<6 {
      let (product, id) = (Self.spellings[number % 2], "\(Self.spellings[number / 3])\(number)")
      try scenario.send(
        "SUBSCRIBED", signed: "25-01-01", received: "25-01-02",
        "\(id) \(product) 25-01-01→25-02-01 bought of \(id)",
        more: ["appTransactionId": .string(product)])
      expected[number % 2].append(Array(id.utf8))
    }
    for now in ["25-01-20", "99-01-01"] {
      for (product, ids) in zip(Self.spellings, expected) {
        let sorted = ids.sorted { $0.lexicographicallyPrecedes($1) }
        let found = try scenario.ids(limit: limit, now: now) { $0.productId = product }
        #expect(found.map { Array($0.utf8) } == sorted, "at \(now)")
        let same = try scenario.ids(limit: limit, now: now) { $0.appTransactionId = product }
        #expect(same.map { Array($0.utf8) } == sorted, "at \(now)")
      }
      #expect(try scenario.ids(limit: limit, now: now).count == 6)
    }
  }

  @Test func `a duration ends the product that it is spelled for`() throws {
    var scenario = try ScenarioLedger(durations: [Self.spellings[0]: "P30D"])
    for (number, product) in Self.spellings.enumerated() {
      try scenario.send(
        "ONE_TIME_CHARGE", signed: "25-01-01", received: "25-01-02",
        "\(1000 + number) \(product) 25-01-01 bought of \(1000 + number) non-renewing")
    }
    let active = try scenario.ids(now: "99-01-01") { $0.statuses = [.active] }
    #expect(active == ["1001"])
    #expect(try scenario.row("1000", now: "99-01-01").contains("expired"))
    #expect(try scenario.row("1001", now: "99-01-01").contains("active"))
  }
}
