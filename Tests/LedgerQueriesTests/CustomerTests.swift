import Entitlements
import JournalStore
import LedgerAudit
import LedgerQueries
import StrictJSON
import Support
import Testing

/// Finding the rows of a customer, and customers by what they have.
@Suite struct CustomerTests {
  private static let alice = "00000000-0000-4000-8000-00000000a11c"
  private static let token: [String: JSONValue] = [
    "appAccountToken": .string(alice), "appTransactionId": .string("700001"),
  ]

  /// Alice's two rows, a stranger's, and one of another app with the same id as hers.
  private func shop() throws -> Library {
    var shop = try Library(apps: ["com.example.other"])
    let came = "25-01-02"
    try shop.send(
      "SUBSCRIBED", signed: "25-01-01", came: came, "1000 basic.m 25-01-01→25-02-01 bought",
      renewal: "renews basic.m 25-02-01", more: Self.token)
    try shop.send(
      "ONE_TIME_CHARGE", signed: "25-01-01", came: came,
      "4000 lifetime 25-01-01 bought of 4000 non-consumable", more: Self.token)
    try shop.send(
      "EXPIRED", signed: "25-01-08", came: came, "3000 basic.m 25-01-01→25-01-08 bought of 3000",
      renewal: "ends basic.m 25-01-08", status: 2, more: ["appTransactionId": .string("700002")])
    try shop.send(
      "SUBSCRIBED", signed: "25-01-01", came: came, "1000 basic.m 25-01-01→25-02-01 bought",
      renewal: "renews basic.m 25-02-01", bundleId: "com.example.other",
      more: ["appTransactionId": .string("700003")])
    return shop
  }

  @Test func byAccountToken() throws {
    let shop = try shop()
    #expect(try shop.ids { $0.appAccountToken = Self.alice } == ["1000", "4000"])
    #expect(try shop.ids { $0.appAccountToken = "00000000-0000-4000-8000-000000000000" } == [])
    // Does this person have the product now?
    let has = try shop.ids {
      $0.appAccountToken = Self.alice
      $0.productId = "lifetime"
      $0.status = .active
    }
    #expect(has == ["4000"])
  }

  @Test func byAppTransactionProductStatusAndBundle() throws {
    let shop = try shop()
    #expect(try shop.ids { $0.appTransactionId = "700001" } == ["1000", "4000"])
    #expect(try shop.ids { $0.appTransactionId = "700002" } == ["3000"])
    #expect(try shop.ids { $0.productId = "basic.m" } == ["1000", "1000", "3000"])
    #expect(try shop.ids { $0.status = .expired } == ["3000"])
    #expect(try shop.ids(now: "25-03-01") { $0.status = .expired } == ["1000", "1000", "3000"])
    #expect(try shop.ids { $0.bundleId = "com.example.other" } == ["1000"])
    #expect(try shop.ids { $0.environment = "Sandbox" } == [])
    for limit in 1...5 { #expect(try shop.ids(limit: limit).count == 4) }
  }

  /// Rows that come while a list is read: none is shown twice, and none that was there is left out.
  @Test func cursorsStayWhileRowsAreAdded() throws {
    var library = try Library()
    func add(_ id: Int) throws {
      try library.send(
        "ONE_TIME_CHARGE", signed: "25-01-01", came: "25-01-02",
        "\(id) coins 25-01-01 bought of \(id) consumable 1", more: Self.token)
    }
    for id in stride(from: 1000, to: 1020, by: 2) { try add(id) }
    var filter = LedgerReader.Filter()
    filter.appAccountToken = Self.alice
    let question = LedgerReader.Question(now: try Words.date("25-01-20"))
    var seen: [String] = []
    var after: StreamKey?
    var added = 1001
    repeat {
      let page = try library.ledger.reader().list(filter, after: after, limit: 3, question)
      seen += page.rows.map(\.key.originalTransactionId)
      after = page.next
      // One behind the cursor, one before it.
      try add(added)
      try add(added + 900)
      added += 2
    } while after != nil
    #expect(Set(seen).count == seen.count && seen == seen.sorted())
    #expect(Set(stride(from: 1000, to: 1020, by: 2).map(String.init)).isSubset(of: seen))
  }

  // MARK: Moves

  /// MIGRATION: two rows, the old one names the new one, and the customer's list shows both.
  @Test(arguments: [false, true]) func migration(_ isReversed: Bool) throws {
    var library = try Library()
    let steps: [(inout Library) throws -> Void] = [
      {
        try $0.send(
          "SUBSCRIBED", signed: "25-01-01", came: "25-01-16",
          "1000 basic.m 25-01-01→25-02-01 bought", renewal: "renews basic.m 25-02-01",
          more: Self.token)
      },
      {
        try $0.send(
          "MIGRATION", signed: "25-01-15", came: "25-01-16",
          "5000 ac.generic 25-01-15→25-02-01 bought of 5000", renewal: "renews ac.generic 25-02-01",
          more: Self.token.merging(["previousOriginalTransactionId": .string("1000")]) { $1 })
      },
    ]
    for step in isReversed ? steps.reversed() : steps { try step(&library) }
    let now = try Words.date("25-01-20")
    let old = try library.ledger.row("1000", now: now)
    #expect(old?.succeededBy == "5000" && old?.json["succeeded_by"]?.text == "\"5000\"")
    #expect(try library.ledger.row("5000", now: now)?.succeededBy == nil)
    #expect(
      try library.row("5000", now: "25-01-20") == "✓ active ac.generic until 25-02-01, renews")
    #expect(try library.ids { $0.appAccountToken = Self.alice } == ["1000", "5000"])
    // Before Apple signed it nobody was succeeded.
    let before = try library.ledger.row("1000", asOf: try Words.date("25-01-14"))
    #expect(before != nil && before?.succeededBy == nil)
  }

  /// A successor that later names another predecessor changes no answer about the time before.
  @Test func aSuccessorThatChangesItsMind() throws {
    var library = try Library()
    let previous = { (id: String) in
      Self.token.merging(["previousOriginalTransactionId": .string(id)]) { $1 }
    }
    for id in ["1000", "2000"] {
      try library.send(
        "SUBSCRIBED", signed: "25-01-01", came: "25-01-16",
        "\(id) basic.m 25-01-01→25-02-01 bought of \(id)", more: Self.token)
    }
    try library.send(
      "MIGRATION", signed: "25-01-15", came: "25-01-16",
      "5000 ac.generic 25-01-15→25-02-01 bought of 5000", more: previous("1000"))
    let asOf = try Words.date("25-01-16")
    #expect(try library.ledger.row("1000", asOf: asOf)?.succeededBy == "5000")
    try library.send(
      "MIGRATION", signed: "25-01-17", came: "25-01-17",
      "5000 ac.generic 25-01-15→25-02-01 bought of 5000", more: previous("2000"))
    #expect(try library.ledger.row("1000", asOf: asOf)?.succeededBy == "5000")
    let now = try Words.date("25-01-20")
    #expect(try library.ledger.row("1000", now: now)?.succeededBy == nil)
    #expect(try library.ledger.row("2000", now: now)?.succeededBy == "5000")
  }

  /// Apple moved transactions between original ids, and back: each row keeps what it was told.
  @Test(arguments: [[0, 1, 2], [2, 1, 0], [1, 2, 0]]) func aTransactionMoves(_ order: [Int]) throws
  {
    var library = try Library()
    let steps = [
      ("SUBSCRIBED", "25-01-01", "1000 basic.m 25-01-01→25-02-01 bought"),
      ("SUBSCRIBED", "25-03-01", "1001 basic.m 25-03-01→25-04-01 bought of 9000"),
      ("DID_RENEW", "25-03-20", "1001 basic.m 25-03-01→25-04-01 bought"),
    ]
    for place in order {
      let (type, signed, transaction) = steps[place]
      try library.send(type, signed: signed, came: "25-03-21", transaction, more: Self.token)
    }
    #expect(try library.row("9000", now: "25-03-25") == "✓ active basic.m until 25-04-01")
    #expect(try library.row("1000", now: "25-03-25") == "✓ active basic.m until 25-04-01")
    #expect(try library.row("1000", asOf: "25-03-10") == "✗ expired basic.m until 25-02-01")
    #expect(
      try library.ids(now: "25-03-25") { $0.appTransactionId = "700001" } == ["1000", "9000"])
    #expect(try library.ledger.verify().findingCount == 0)
  }
}
