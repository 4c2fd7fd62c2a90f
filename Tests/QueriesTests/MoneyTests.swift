import Ledger
import Queries
import StrictJSON
import Support
import Testing

/// Amounts in the row and in the timeline: exactly as Apple gives them, for each transaction.
@Suite struct MoneyTests {
  /// 2^53 + 1, which a double cannot represent.
  private static let price: Int64 = 9_007_199_254_740_993

  private func customer() throws -> ScenarioLedger {
    var customer = try ScenarioLedger()
    let danish: [String: JSONValue] = [
      "price": .integer(Self.price), "currency": .string("DKK"), "offerPeriod": .string("P1M"),
    ]
    try customer.send(
      "SUBSCRIBED", signed: "25-01-01", received: "25-01-01",
      "1000 basic.m 25-01-01→25-02-01 bought promo HELLO", renewal: "renews basic.m 25-02-01",
      more: danish)
    try customer.send(
      "DID_RENEW", signed: "25-02-01", received: "25-02-01",
      "1001 basic.m 25-02-01→25-03-01 renewed", renewal: "renews basic.m 25-03-01",
      more: ["price": .integer(9990), "currency": .string("EUR")])
    try customer.send(
      "REFUND", signed: "25-02-10", received: "25-02-10",
      "1000 basic.m 25-01-01→25-02-01 bought promo HELLO refunded 25-02-10 prorated 67932",
      renewal: "renews basic.m 25-03-01", more: danish)
    return customer
  }

  @Test func `the row has the price and the offer of the current period`() throws {
    let ledger = try customer().ledger
    let january = try ledger.row("1000", asOf: try ScenarioSyntax.date("25-01-15"))
    #expect(
      january?.json["price"]?.text == #"{"milliunits":\#(Self.price),"currency":"DKK"}"#)
    #expect(
      january?.json["offer"]?.text
        == #"{"type":2,"identifier":"HELLO","discount_type":null,"period":"P1M"}"#)
    // The price of the current period, not a sum in two currencies.
    let february = try ledger.row("1000", now: try ScenarioSyntax.date("25-02-15"))
    #expect(february?.json["price"]?.text == #"{"milliunits":9990,"currency":"EUR"}"#)
    #expect(february?.json["offer"]?.text == "null")
  }

  @Test func `each timeline entry has the amounts of its transaction`() throws {
    let entries = try #require(try customer().ledger.history("1000")).entries.map(\.json)
    let prices = entries.map { $0["money"]?["price"]?.text }
    #expect(prices == [String(Self.price), "9990", String(Self.price)])
    #expect(entries.map { $0["money"]?["currency"]?.text } == ["\"DKK\"", "\"EUR\"", "\"DKK\""])
    let refund = try #require(entries.last?["money"])
    #expect(refund["revocation_percentage"]?.text == "67932")
    #expect(refund["revocation_type"]?.text == "\"REFUND_PRORATED\"")
    let date = try ScenarioSyntax.date("25-02-10")
    #expect(refund["revocation_date"]?.text == String(date))
    #expect(entries.map { $0["transaction_id"]?.text } == ["\"1000\"", "\"1001\"", "\"1000\""])
  }
}
