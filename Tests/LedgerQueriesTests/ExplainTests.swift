import LedgerQueries
import StrictJSON
import Support
import Testing

/// An explanation is about the row that is there, and names the events that made it.
@Suite struct ExplainTests {
  @Test(arguments: try ["v2-lifecycle", "v2-money", "v1"].flatMap { try Scenario.all($0) })
  func everyAnswerOfEveryStory(_ story: Scenario) throws {
    let ledger = try TestLedger(
      secrets: [Scenario.secret], durations: ["season.pass": "P90D"])
    for body in try story.bodies() { try ledger.take(body, at: 1_900_000_000_000) }
    for answer in story.answers {
      let question = LedgerReader.Question(asOf: answer.date, now: 0)
      let id = answer.originalTransactionId
      let row = try ledger.row(id, asOf: answer.date)
      let explanation = try ledger.reader().explain(
        id, environment: "Production", bundleId: nil, question)
      let place = Comment(rawValue: "\(story.title), line \(answer.line)")
      #expect(explanation?.row.json.text == row?.json.text, place)
      guard let explanation else { continue }
      #expect(
        explanation.verdict.contains("this customer has access") == answer.givesAccess, place)
      #expect(explanation.fields.allSatisfy { !$0.why.isEmpty && $0.why.hasSuffix(".") }, place)
      let sources = explanation.fields.compactMap(\.event)
      #expect(sources.allSatisfy { $0.signedDate <= answer.date && $0.seq > 0 }, place)
      // The status always comes from somewhere.
      #expect(explanation.fields.first { $0.name == "status" }?.event != nil, place)
    }
  }

  @Test func theEventBehindEachField() throws {
    var life = try Library()
    try life.send(
      "SUBSCRIBED", signed: "25-01-01", came: "25-01-03", "1000 basic.m 25-01-01→25-02-01 bought",
      renewal: "renews basic.m 25-02-01")
    try life.send(
      "DID_RENEW", signed: "25-02-01", came: "25-02-01", "1001 basic.m 25-02-01→25-03-01 renewed",
      renewal: "renews basic.m 25-03-01")
    func explained(_ asOf: String, knownAt: String? = nil) throws -> Explanation {
      try #require(
        try life.ledger.reader().explain(
          "1000", environment: "Production", bundleId: nil,
          LedgerReader.Question(
            asOf: try Words.date(asOf), knownAt: try knownAt.map(Words.date), now: 0)))
    }
    let running = try explained("25-02-10")
    #expect(running.fields.first { $0.name == "transaction_id" }?.event?.seq == 2)
    #expect(running.next?.at == (try Words.date("25-03-01")))
    #expect(running.next?.status == "expired" && running.next?.givesAccess == false)
    let january = try explained("25-01-15")
    #expect(january.fields.first { $0.name == "transaction_id" }?.event?.seq == 1)
    #expect(january.next?.at == (try Words.date("25-02-01")))
    let over = try explained("25-04-01")
    #expect(over.verdict.contains("has no access: the newest period ended at 2025-03-01"))
    #expect(over.next == nil)
    // What had not come yet explains nothing.
    #expect(
      try life.ledger.reader().explain(
        "1000", environment: "Production", bundleId: nil,
        LedgerReader.Question(
          asOf: try Words.date("25-02-10"), knownAt: try Words.date("25-01-02"), now: 0)) == nil)
  }
}
