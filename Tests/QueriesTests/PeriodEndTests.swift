import AppStore
import Queries
import StrictJSON
import Support
import Testing

/// `period_ends_at` beside `expires_at`: the end of the current period, and of what is paid for.
@Suite struct PeriodEndTests {
  /// What a row says at a time, as of then and as of all that is known.
  private func ends(_ ledger: CustomerLedger, _ id: String, _ time: String) throws -> String {
    let now = try ScenarioSyntax.date(time)
    let row = try ledger.scenario.ledger.row(id, now: now)
    var filter = LedgerReader.Filter()
    filter.appAccountToken = CustomerLedger.token
    let listed = try ledger.scenario.ledger.reader().list(
      filter, after: nil, limit: 10, LedgerReader.Question(now: now)
    ).rows.first { $0.key.originalTransactionId == id }
    #expect(listed?.json.text == row?.json.text)
    let names = ["period_ends_at", "expires_at"]
    let texts = names.map { name in
      guard case .integer(let end)? = row?.json[name] else { return "–" }
      return ScenarioSyntax.text(end)
    }
    return texts.joined(separator: " ")
  }

  @Test func `a renewal that is charged early is paid for and not yet the current period`() throws {
    var ledger = try CustomerLedger([:])
    try ledger.send(
      "SUBSCRIBED", "25-01-01", "1000 pro.m 25-01-01→25-02-01 bought",
      renewal: "renews pro.m 25-02-01")
    #expect(try ends(ledger, "1000", "25-01-20") == "25-02-01 25-02-01")
    try ledger.send(
      "DID_RENEW", "25-01-31T20:00", "1001 pro.m 25-02-01→25-03-01 renewed",
      renewal: "renews pro.m 25-03-01")
    #expect(try ends(ledger, "1000", "25-01-31T21:00") == "25-02-01 25-03-01")
    #expect(try ends(ledger, "1000", "25-02-01") == "25-03-01 25-03-01")
    #expect(try ends(ledger, "1000", "25-03-01") == "25-03-01 25-03-01")
    #expect(try ends(ledger, "1000", "26-01-01") == "25-03-01 25-03-01")
  }

  @Test func `a refund ends the period, and a grace period does not extend it`() throws {
    var ledger = try CustomerLedger([:])
    try ledger.send(
      "DID_FAIL_TO_RENEW", "25-02-01T10:01", "1000 pro.m 25-01-01→25-02-01 bought",
      renewal: "renews pro.m 25-02-01 retrying grace 25-02-17", status: 4)
    #expect(try ends(ledger, "1000", "25-02-02") == "25-02-01 25-02-01")
    try ledger.send(
      "REFUND", "25-01-10", "2000 pro.m 25-01-01→25-02-01 bought of 2000 refunded 25-01-10")
    #expect(try ends(ledger, "2000", "25-01-05") == "25-01-10 25-01-10")
  }

  @Test func `what does not renew ends after its configured time, or never`() throws {
    var ledger = try CustomerLedger([:], durations: ["season": "P90D"])
    try ledger.send(
      "ONE_TIME_CHARGE", "25-01-01", "5000 season 25-01-01 bought of 5000 non-renewing")
    try ledger.send(
      "ONE_TIME_CHARGE", "25-01-01", "4000 lifetime 25-01-01 bought of 4000 non-consumable")
    #expect(try ends(ledger, "5000", "25-01-20") == "25-04-01 25-04-01")
    #expect(try ends(ledger, "5000", "25-05-20") == "25-04-01 25-04-01")
    #expect(try ends(ledger, "4000", "25-01-20") == "– –")
  }
}
