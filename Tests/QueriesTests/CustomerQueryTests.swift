import AppStore
import Entitlements
import Platform
import Queries
import Store
import StrictJSON
import Support
import Testing

/// Which rows belong to a customer, by each kind of id, at each time, and from each projection.
@Suite struct CustomerQueryTests {
  private static let pro = ["pro": ["pro.*"], "ads": ["lifetime"]]

  private func ids(_ customer: CustomerDocument) -> [String] {
    customer.rows.map(\.key.originalTransactionId)
  }

  /// A subscription and a one-time product of the customer, and a subscription of another app.
  private func customer() throws -> CustomerLedger {
    var ledger = try CustomerLedger(Self.pro, apps: ["com.example.other"])
    try ledger.send(
      "SUBSCRIBED", "25-01-01", "1000 pro.m 25-01-01→25-02-01 bought",
      renewal: "renews pro.m 25-02-01", received: "25-01-03")
    try ledger.send(
      "ONE_TIME_CHARGE", "25-01-05", "4000 lifetime 25-01-05 bought of 4000 non-consumable")
    try ledger.send(
      "SUBSCRIBED", "25-01-06", "7000 pro.y 25-01-06→26-01-06 bought of 7000",
      bundleId: "com.example.other")
    return ledger
  }

  @Test func `rows are found by token, app transaction and original transaction id`() throws {
    let ledger = try customer()
    let now = "25-01-20"
    #expect(ids(try ledger.customer(now: now)) == ["1000", "4000", "7000"])
    let upper = CustomerLedger.token.uppercased()
    #expect(ids(try ledger.customer(upper, now: now)) == ["1000", "4000", "7000"])
    #expect(ids(try ledger.customer("700001", .appTransactionId, now: now)).count == 3)
    #expect(ids(try ledger.customer("4000", .originalTransactionId, now: now)) == ["4000"])
    let other = try ledger.customer(now: now, bundleId: "com.example.other")
    #expect(ids(other) == ["7000"] && other.isKnown)
  }

  @Test func `what nobody told of is unknown, and every configured entitlement is answered`() throws
  {
    let ledger = try customer()
    let unknown = [
      try ledger.customer("00000000-0000-4000-8000-000000000000", now: "25-01-20"),
      try ledger.customer("1", .appTransactionId, now: "25-01-20"),
      try ledger.customer("1", .originalTransactionId, now: "25-01-20"),
      try ledger.customer(now: "25-01-20", environment: .sandbox),
      try ledger.customer(now: "25-01-20", bundleId: "com.example.none"),
    ]
    #expect(
      unknown.map { $0.entitlements[0].answer.absence?.reason } == [
        .unknown, .unknown, .unknown, .otherEnvironment, .otherApp,
      ])
    for customer in unknown {
      #expect(!customer.isKnown && customer.entitlements.map(\.name) == ["ads", "pro"])
      #expect(customer.entitlements.allSatisfy { $0.answer.access == nil && $0.answer.next == nil })
    }
  }

  @Test func `the document has the members of the contract`() throws {
    let ledger = try customer()
    guard case .object(let members) = try ledger.customer(now: "25-01-20").json else {
      return #expect(Bool(false))
    }
    #expect(
      members.map(\.0) == [
        "object", "id", "by", "environment", "known", "entitlements", "subscriptions", "purchases",
        "more_purchases", "as_of", "known_at",
      ])
    let json = Dictionary(uniqueKeysWithValues: members.map { ($0.0, $0.1.text) })
    #expect(json["object"] == "\"customer\"" && json["known"] == "true")
    #expect(
      json["entitlements"] == """
        {"ads":{"active":true,"expires_at":null,"will_renew":false,"basis":"one_time",\
        "product_id":"lifetime","original_transaction_id":"4000","next":null,"reason":null,"ended_at":null,\
        "trial":false,"offer_type":null},\
        "pro":{"active":true,"expires_at":1767693600000,"will_renew":true,"basis":"paid",\
        "product_id":"pro.y","original_transaction_id":"7000",\
        "next":{"at":1767693600000,"active":false},"reason":null,"ended_at":null,\
        "trial":false,"offer_type":null}}
        """)
    #expect(json["subscriptions"]?.contains("\"original_transaction_id\":\"1000\"") == true)
    #expect(json["purchases"]?.contains("\"original_transaction_id\":\"4000\"") == true)
    #expect(json["purchases"]?.contains("\"original_transaction_id\":\"1000\"") == false)
  }

  @Test func `an answer about the past knows what was signed and received by then`() throws {
    var ledger = try customer()
    #expect(ids(try ledger.customer(asOf: "25-01-02")) == ["1000"])
    #expect(ids(try ledger.customer(asOf: "25-01-05T12:00")) == ["1000", "4000"])
    #expect(!(try ledger.customer(knownAt: "25-01-02").isKnown), "received on the third")
    #expect(ids(try ledger.customer(knownAt: "25-01-04")) == ["1000"])
    #expect(!(try ledger.customer(asOf: "24-12-31").isKnown))
    // The token of a row that got it later is not known before.
    try ledger.scenario.send(
      "SUBSCRIBED", signed: "25-01-07", received: "25-01-07",
      "8000 pro.m 25-01-07→25-02-07 bought of 8000")
    try ledger.send("DID_RENEW", "25-02-07", "8001 pro.m 25-02-07→25-03-07 renewed of 8000")
    #expect(ids(try ledger.customer(now: "25-02-08")).contains("8000"))
    #expect(ids(try ledger.customer(asOf: "25-02-08")).contains("8000"))
    #expect(!ids(try ledger.customer(asOf: "25-01-08")).contains("8000"))
  }

  @Test func `rows outside the scope are not seen`() throws {
    let ledger = try customer()
    let question = LedgerReader.Question(now: try ScenarioSyntax.date("25-01-20")) { key in
      key.bundleId == "com.example.other"
    }
    for (id, kind) in [
      (CustomerLedger.token, LedgerReader.CustomerQuestion.IdKind.appAccountToken),
      ("700001", .appTransactionId), ("1000", .originalTransactionId),
    ] {
      let customer = try ledger.scenario.ledger.reader().customer(
        LedgerReader.CustomerQuestion(
          id, kind, .production, bundleId: nil, ledger.catalog, apps: []), question)
      #expect(ids(customer) == (id == "1000" ? [] : ["7000"]), "\(kind)")
    }
  }

  /// Consumables are read last, because they give no entitlement.
  @Test func `purchases above the limit are left out, and what they say is not`() throws {
    var ledger = try CustomerLedger(Self.pro)
    for id in 1...LedgerReader.maximumRows {
      try ledger.send(
        "ONE_TIME_CHARGE", "25-01-05",
        "\(100_000 + id) coins 25-01-05 bought of \(100_000 + id) consumable 1")
    }
    #expect(!(try ledger.customer(now: "25-01-20").hasMore))
    try ledger.send(
      "ONE_TIME_CHARGE", "25-01-05", "900000 lifetime 25-01-05 bought of 900000 non-consumable")
    let customer = try ledger.customer(now: "25-01-20")
    #expect(customer.hasMore && customer.rows.count == LedgerReader.maximumRows)
    #expect(customer.entitlements.first { $0.name == "ads" }?.answer.access != nil)
  }

  @Test func `rows outside the scope take no place of others, and are not counted`() throws {
    let ledger = try customer()
    var asked = LedgerReader.CustomerQuestion(
      CustomerLedger.token, .appAccountToken, .production, bundleId: nil, ledger.catalog,
      apps: [])
    asked.maximumRows = 1
    let now = try ScenarioSyntax.date("25-01-20")
    let reader = try ledger.scenario.ledger.reader()
    let other = try reader.customer(
      asked, LedgerReader.Question(now: now) { $0.bundleId == "com.example.other" })
    #expect(ids(other) == ["7000"] && !other.hasMore)
    let own = try reader.customer(
      asked, LedgerReader.Question(now: now) { $0.bundleId != "com.example.other" })
    #expect(ids(own) == ["1000"] && own.hasMore)
  }

  /// The file has the rows of the first events alone; the others come from the journal.
  @Test func `a projection that is behind is corrected, and one that is missing is not guessed`()
    throws
  {
    let ledger = try customer()
    try ledger.scenario.ledger.whileStopped {
      let folder = ledger.scenario.ledger.folder
      let name = try #require(try ProjectionList.read(folder).live)
      let path = folder.projection(named: name)
      let hash = try #require(try JournalReader.open(folder).hash(at: 1))
      let file = try SQLiteConnection.open(path, .write)
      try file.statement("UPDATE meta SET value = 1 WHERE key = 'folded_through'").run()
      try file.statement("UPDATE meta SET value = ? WHERE key = 'hash'").bind(1, hash).run()
      try file.execute("DELETE FROM entitlement WHERE original_transaction_id <> '1000'")
      file.close()
      let question = LedgerReader.Question(now: try ScenarioSyntax.date("25-01-20"))
      func asked(_ id: String, _ kind: LedgerReader.CustomerQuestion.IdKind)
        -> LedgerReader.CustomerQuestion
      {
        .init(id, kind, .production, bundleId: nil, ledger.catalog, apps: [])
      }
      let reader = try LedgerReader(folder, durations: [:])
      let token = asked(CustomerLedger.token, .appAccountToken)
      #expect(ids(try reader.customer(token, question)) == ["1000", "4000", "7000"])
      try ProjectionFile.remove(path)
      let without = try LedgerReader(folder, durations: [:])
      #expect(throws: LedgerError.self) { try without.customer(token, question) }
      let known = try without.customer(asked("4000", .originalTransactionId), question)
      #expect(ids(known) == ["4000"])
    }
  }
}
