import AppStore
import Entitlements
import Queries
import Store
import StrictJSON
import Support
import Testing

/// The moments at which time alone changes an answer, as they are found and as they are told.
@Suite struct TurnTests {
  private static let all = (from: "24-01-01", to: "27-01-01")

  private func key(_ id: String, _ bundleId: String = TestLedger.bundleId) -> StreamKey {
    StreamKey(environment: "Production", bundleId: bundleId, originalTransactionId: id)
  }

  private func turns(
    _ reader: LedgerReader, _ from: String = all.from, _ to: String = all.to, limit: Int = 100
  ) throws -> [String] {
    let found = try reader.turns(
      after: try ScenarioSyntax.date(from), through: try ScenarioSyntax.date(to), limit: limit)
    return try #require(found).map {
      "\($0.key.originalTransactionId) \(ScenarioSyntax.text($0.at))"
    }
  }

  private func told(
    _ reader: LedgerReader, _ id: String, _ at: String
  ) throws -> (rows: EventRows, seq: Int64)? {
    try reader.rows(turningAt: try ScenarioSyntax.date(at), of: key(id))
  }

  @Test func `each moment is found once, in order of time`() throws {
    var ledger = try CustomerLedger([:], durations: ["season": "P90D"])
    try ledger.send(
      "SUBSCRIBED", "25-01-01", "1000 pro.m 25-01-01→25-02-01 bought",
      renewal: "renews pro.m 25-02-01")
    try ledger.send(
      "ONE_TIME_CHARGE", "25-01-01", "4000 lifetime 25-01-01 bought of 4000 non-consumable")
    try ledger.send(
      "ONE_TIME_CHARGE", "25-01-01", "5000 season 25-01-01 bought of 5000 non-renewing")
    try ledger.send(
      "SUBSCRIBED", "25-01-02", "1000 pro.m 25-01-01→25-02-01 bought of 6000",
      renewal: "renews pro.m 25-02-01", bundleId: TestLedger.bundleId)
    let reader = try ledger.scenario.ledger.reader()
    // The beginning of a purchase is one too, before that: its event tells it.
    let found = try turns(reader, "25-01-02", Self.all.to)
    #expect(found == ["1000 25-02-01", "6000 25-02-01", "5000 25-04-01"])
    #expect(try turns(reader, "25-02-01", Self.all.to) == ["5000 25-04-01"])
    #expect(try turns(reader, "25-01-31", "25-02-01") == ["1000 25-02-01", "6000 25-02-01"])
    #expect(try turns(reader, "25-01-31", Self.all.to, limit: 1) == ["1000 25-02-01"])
  }

  @Test func `a moment is told as of then, from what was received by then`() throws {
    var ledger = try CustomerLedger([:], durations: ["season": "P90D"])
    try ledger.send(
      "SUBSCRIBED", "25-01-01", "1000 pro.m 25-01-01→25-02-01 bought",
      renewal: "renews pro.m 25-02-01")
    try ledger.send(
      "ONE_TIME_CHARGE", "25-01-01", "5000 season 25-01-01 bought of 5000 non-renewing")
    let first = try #require(try told(try ledger.scenario.ledger.reader(), "1000", "25-02-01"))
    #expect(first.seq == 1 && first.rows.before?.entitlement.givesAccess == true)
    #expect(first.rows.after?.entitlement.givesAccess == false)
    #expect(first.rows.after?.entitlement.asOf == (try ScenarioSyntax.date("25-02-01")))
    #expect(first.rows.changes.contains { $0.field == "status" } && first.rows.next == nil)
    let season = try #require(try told(try ledger.scenario.ledger.reader(), "5000", "25-04-01"))
    #expect(season.rows.before?.entitlement.status == .active)
    #expect(season.rows.after?.entitlement.status == .expired)
    // The same text after later events that leave the moment as it is.
    try ledger.send(
      "DID_RENEW", "25-03-01", "1001 pro.m 25-03-01→25-04-01 renewed",
      renewal: "renews pro.m 25-04-01")
    let again = try #require(try told(try ledger.scenario.ledger.reader(), "1000", "25-02-01"))
    #expect(again.rows.after?.json.text == first.rows.after?.json.text && again.seq == 1)
  }

  @Test func `what an event tells or takes away is not told by the clock`() throws {
    var ledger = try CustomerLedger([:])
    try ledger.send(
      "SUBSCRIBED", "25-01-01", "1000 pro.m 25-01-01→25-02-01 bought",
      renewal: "renews pro.m 25-02-01", received: "25-01-01T10:01")
    // Nothing was known of the customer when the purchase began.
    #expect(try told(try ledger.scenario.ledger.reader(), "1000", "25-01-01") == nil)
    #expect(try told(try ledger.scenario.ledger.reader(), "1000", "25-01-15") == nil)
    #expect(try told(try ledger.scenario.ledger.reader(), "9999", "25-02-01") == nil)
    // The renewal came late, and says that access did not end.
    try ledger.send(
      "DID_RENEW", "25-02-01", "1001 pro.m 25-02-01→25-03-01 renewed",
      renewal: "renews pro.m 25-03-01", received: "25-02-02")
    let reader = try ledger.scenario.ledger.reader()
    #expect(try told(reader, "1000", "25-02-01") == nil)
    #expect(try turns(reader).filter { $0.hasSuffix("25-02-01") }.isEmpty)
    #expect(try told(reader, "1000", "25-03-01") != nil)
    // A refund that was received later begins in the past: its event tells it.
    try ledger.send(
      "REFUND", "25-02-10", "1001 pro.m 25-02-01→25-03-01 renewed refunded 25-02-09",
      received: "25-02-10")
    let after = try ledger.scenario.ledger.reader()
    #expect(try turns(after).contains("1000 25-02-09"))
    #expect(try told(after, "1000", "25-02-09") == nil)
    #expect(try told(after, "1000", "25-03-01") == nil)
  }
}
