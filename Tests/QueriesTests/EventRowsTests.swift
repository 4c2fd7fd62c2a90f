import AppStore
import Entitlements
import Queries
import Store
import StrictJSON
import Support
import Testing

/// The rows around an event: as of its receive time, from the events through it.
@Suite struct EventRowsTests {
  private let key = StreamKey(
    environment: "Production", bundleId: TestLedger.bundleId, originalTransactionId: "1000")

  /// A purchase, a failed renewal, its recovery, and an event that changes nothing.
  private func ledger() throws -> CustomerLedger {
    var ledger = try CustomerLedger([:])
    try ledger.send(
      "SUBSCRIBED", "25-01-01", "1000 pro.m 25-01-01→25-02-01 bought",
      renewal: "renews pro.m 25-02-01")
    try ledger.send(
      "DID_FAIL_TO_RENEW", "25-02-01T10:01", "1000 pro.m 25-01-01→25-02-01 bought",
      renewal: "renews pro.m 25-02-01 retrying", status: 3)
    try ledger.send(
      "DID_RENEW", "25-02-05", "1001 pro.m 25-02-05→25-03-05 renewed",
      renewal: "renews pro.m 25-03-05")
    try ledger.send(
      "DID_RENEW", "25-02-05T10:01", "1001 pro.m 25-02-05→25-03-05 renewed",
      renewal: "renews pro.m 25-03-05")
    return ledger
  }

  private func rows(
    _ ledger: TestLedger, _ seq: Int64, _ reader: LedgerReader? = nil
  ) throws -> EventRows {
    let reader = try reader ?? LedgerReader(ledger.ledger)
    let event = try #require(try reader.journal.event(seq: seq))
    return try reader.rows(around: seq, of: try #require(event.streamKey), at: event.receivedAt)
  }

  private func text(_ rows: EventRows) -> String {
    let next = rows.next.map { "\($0.asOf) \($0.status) \($0.givesAccess)" } ?? "–"
    return [rows.before?.json.text ?? "–", rows.after?.json.text ?? "–", next]
      .joined(separator: "\n")
  }

  @Test func `each event has the row before it, the row after it and what it changed`() throws {
    let ledger = try ledger().scenario.ledger
    let all = try (1...4).map { try rows(ledger, $0) }
    #expect(
      all.map { $0.before?.entitlement.status } == [nil, .expired, .billingRetry, .active])
    #expect(all.map { $0.after?.entitlement.status } == [.active, .billingRetry, .active, .active])
    #expect(all[2].before?.entitlement.givesAccess == false)
    #expect(all[2].after?.entitlement.givesAccess == true)
    let changes = all[2].changes.first { $0.field == "status" }
    #expect(changes?.before.text == #""billing_retry""# && changes?.after.text == #""active""#)
    #expect(all[3].changes.isEmpty)
    #expect(all.map { $0.after?.lastEvent?.seq } == [1, 2, 3, 4])
    #expect(all[0].next?.asOf == (try ScenarioSyntax.date("25-02-01")))
    #expect(all[0].next?.givesAccess == false)
  }

  @Test func `the rows are the same in every order of asking, and after later events`() throws {
    var ledger = try ledger()
    let first = try (1...4).map { text(try rows(ledger.scenario.ledger, $0)) }
    try ledger.send(
      "REFUND", "25-02-06", "1001 pro.m 25-02-05→25-03-05 renewed refunded 25-02-06")
    let reader = try LedgerReader(ledger.scenario.ledger.ledger)
    for seq in [1, 2, 3, 4, 4, 2, 3, 1, 3] as [Int64] {
      #expect(text(try rows(ledger.scenario.ledger, seq, reader)) == first[Int(seq) - 1])
    }
  }

  @Test func `a row names its successor only from the event that does`() throws {
    var ledger = try ledger()
    try ledger.send(
      "ONE_TIME_CHARGE", "25-02-06", "7000 lifetime 25-02-06 bought of 7000 non-consumable",
      more: ["previousOriginalTransactionId": .string("1000")])
    try ledger.send(
      "DID_CHANGE_RENEWAL_STATUS", "25-02-07", "1001 pro.m 25-02-05→25-03-05 renewed",
      renewal: "stays pro.m 25-03-05")
    #expect(try rows(ledger.scenario.ledger, 4).after?.succeededBy == nil)
    #expect(try rows(ledger.scenario.ledger, 6).after?.succeededBy == "7000")
  }
}
