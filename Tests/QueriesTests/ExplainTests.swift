import Entitlements
import Queries
import StrictJSON
import Support
import Testing

/// An explanation shows the same row as a read, and names the events that made it.
@Suite struct ExplainTests {
  @Test(arguments: try ["v2-lifecycle", "v2-money", "v1"].flatMap { try Scenario.all($0) })
  func `every answer of every scenario is explained by the events that made it`(
    _ scenario: Scenario
  ) throws {
    let ledger = try TestLedger(
      secrets: [Scenario.secret], durations: ["season.pass": "P90D"])
    for body in try scenario.bodies() { try ledger.ingest(body, at: 1_900_000_000_000) }
    for answer in scenario.answers {
      let question = LedgerReader.Question(asOf: answer.date, now: 0)
      let id = answer.originalTransactionId
      let row = try ledger.row(id, asOf: answer.date)
      let explanation = try ledger.reader().explain(
        id, environment: "Production", bundleId: nil, question)
      let location = Comment(rawValue: "\(scenario.title), line \(answer.line)")
      #expect(explanation?.row.json.text == row?.json.text, location)
      guard let explanation else { continue }
      #expect(
        explanation.verdict.contains("this customer has access") == answer.givesAccess, location)
      #expect(explanation.fields.allSatisfy { !$0.why.isEmpty && $0.why.hasSuffix(".") }, location)
      let sources = explanation.fields.compactMap(\.event)
      #expect(sources.allSatisfy { $0.signedDate <= answer.date && $0.seq > 0 }, location)
      // The status always has an event.
      #expect(explanation.fields.first { $0.name == "status" }?.event != nil, location)
    }
  }

  @Test(
    arguments: [
      "ASSIGNMENT_REVOKE": " (assigned seat withdrawn)", "REFUND_FULL": " (refunded in full)",
      "LEASE_REVOKE": "",
    ]) func `a revocation is explained by its type`(_ type: String, _ words: String) throws
  {
    var customer = try ScenarioLedger()
    try customer.send(
      "REVOKE", signed: "25-01-10", received: "25-01-10",
      "1000 team.m 25-01-01→25-02-01 bought seat revoked 25-01-10 \(type)",
      renewal: "ends team.m 25-02-01", status: 5)
    let explanation = try customer.ledger.reader().explain(
      "1000", environment: "Production", bundleId: nil, LedgerReader.Question(now: 1))
    let field = try #require(explanation?.fields.first { $0.name == "revoked_at" })
    #expect(
      field.why == "Apple revoked the purchase\(words), and nothing signed later restored it.")
  }

  @Test func `what rules made of a transaction is told by explain and by history`() throws {
    var customer = try ScenarioLedger()
    try customer.send(
      "SUBSCRIBED", signed: "25-01-01", received: "25-01-01",
      "1000 basic.m 25-01-01→25-02-01 bought", renewal: "renews basic.m 25-02-01")
    try customer.send(
      "DID_RENEW", signed: "25-01-31T12:00", received: "25-01-31T12:00",
      "1001 basic.m 25-02-01→25-03-01 renewed", renewal: "renews basic.m 25-03-01")
    try customer.send(
      "DID_CHANGE_RENEWAL_PREF", signed: "25-01-31T20:00", received: "25-01-31T20:00",
      "1002 pro.m 25-01-31T20:00→25-02-28T20:00 bought", renewal: "renews pro.m 25-02-28T20:00")
    let question = LedgerReader.Question(now: try ScenarioSyntax.date("25-02-05"))
    let reader = try customer.ledger.reader()
    let explanation = try #require(
      try reader.explain("1000", environment: "Production", bundleId: nil, question))
    #expect(explanation.row.entitlement.productId == "pro.m")
    let told = explanation.fields.filter { $0.name == "transaction" }.map(\.why)
    #expect(
      told == [
        "Ended by the upgrade of 2025-01-31T20:00:00Z (transaction 1002).",
        "Replaced by the upgrade of 2025-01-31T20:00:00Z (transaction 1002) before it began.",
      ])
    let history = try #require(
      try reader.history("1000", environment: "Production", bundleId: nil, question))
    let rules = history.entries.map(\.rules)
    #expect(rules[0] == ["ended by the upgrade of 2025-01-31T20:00:00Z (transaction 1002)"])
    #expect(rules[1].first?.hasSuffix("(transaction 1002) before it began") == true)
    #expect(rules[2].isEmpty)
  }

  @Test func `each field names the event that set it`() throws {
    var customer = try ScenarioLedger()
    try customer.send(
      "SUBSCRIBED", signed: "25-01-01", received: "25-01-03",
      "1000 basic.m 25-01-01→25-02-01 bought",
      renewal: "renews basic.m 25-02-01")
    try customer.send(
      "DID_RENEW", signed: "25-02-01", received: "25-02-01",
      "1001 basic.m 25-02-01→25-03-01 renewed",
      renewal: "renews basic.m 25-03-01")
    func explained(_ asOf: String, knownAt: String? = nil) throws -> Explanation {
      try #require(
        try customer.ledger.reader().explain(
          "1000", environment: "Production", bundleId: nil,
          LedgerReader.Question(
            asOf: try ScenarioSyntax.date(asOf), knownAt: try knownAt.map(ScenarioSyntax.date),
            now: 0)))
    }
    let running = try explained("25-02-10")
    #expect(running.fields.first { $0.name == "transaction_id" }?.event?.seq == 2)
    #expect(running.next?.at == (try ScenarioSyntax.date("25-03-01")))
    #expect(running.next?.status == "expired" && running.next?.givesAccess == false)
    let january = try explained("25-01-15")
    #expect(january.fields.first { $0.name == "transaction_id" }?.event?.seq == 1)
    #expect(january.next?.at == (try ScenarioSyntax.date("25-02-01")))
    let over = try explained("25-04-01")
    #expect(over.verdict.contains("has no access: the newest period ended at 2025-03-01"))
    #expect(over.next == nil)
    // Events that were received later explain nothing.
    #expect(
      try customer.ledger.reader().explain(
        "1000", environment: "Production", bundleId: nil,
        LedgerReader.Question(
          asOf: try ScenarioSyntax.date("25-02-10"), knownAt: try ScenarioSyntax.date("25-01-02"),
          now: 0)) == nil)
  }
}
