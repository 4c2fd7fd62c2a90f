import Foundation
import Queries
import StrictJSON
import Support
import Testing

/// The history of V1 notifications.
@Suite struct HistoryTests {
  private static let receipt = String(repeating: "cmVjZWlwdA", count: 400)

  private func history(_ ledger: TestLedger, _ id: String) throws -> History? {
    try ledger.reader().history(
      id, environment: nil, bundleId: nil, LedgerReader.Question(now: 0), isRaw: true)
  }

  @Test func `the raw payload has no secret and a shortened receipt`() throws {
    let ledger = try V1Fixtures.ledger()
    let entry = V1Fixtures.entry("1000", "basic.m", "20-01-01", "20-02-01")
    let body = V1Fixtures.body(
      "INITIAL_BUY", [entry], [V1Fixtures.pending("basic.m", "1")],
      top: [
        "latest_receipt": .string(Self.receipt),
        "latest_expired_receipt": .string(Self.receipt),
        "original_transaction_id": .number("1000"),
      ])
    let inner = body.replacingOccurrences(of: "cmVjZWlwdA==", with: Self.receipt)
    #expect(try ledger.ingest(inner, at: 1) == .accepted(1))
    let item = try #require(try history(ledger, "1000")).json["items"]
    guard case .array(let items)? = item else { return }
    #expect(items[0]["words"]?.text == "\"subscribed for the first time\"")
    let payload = try #require(items[0]["payload"])
    let cut = "\"\(Self.receipt.prefix(32))… (4000 bytes)\""
    #expect(payload["latest_receipt"]?.text == cut)
    #expect(payload["latest_expired_receipt"]?.text == cut)
    #expect(payload["unified_receipt"]?["latest_receipt"]?.text == cut)
    // A number as it was written, not a string.
    #expect(payload["original_transaction_id"]?.text == "1000")
    #expect(payload["password"] == nil && !payload.text.contains(V1Fixtures.secret))
  }

  @Test func `quarantined bodies of the customer are in the history`() throws {
    let ledger = try V1Fixtures.ledger()
    #expect(try ledger.ingest(V1Fixtures.purchase, at: 1) == .accepted(1))
    let entry = V1Fixtures.entry("1000", "basic.m", "20-01-01", "20-02-01")
    let unnamed = V1Fixtures.body(
      "DID_RENEW", [entry], [], top: ["bid": .string("x.y"), "original_transaction_id": nil])
    let named = V1Fixtures.body("DID_RENEW", nil, nil, top: ["environment": .string("Mars")])
    #expect(try ledger.ingest(unnamed, at: 2) == .quarantined("other_app"))
    #expect(try ledger.ingest(named, at: 3) == .quarantined("environment"))
    let items = try #require(try history(ledger, "1000")).items
    #expect(items.count == 3)
    #expect(items.dropFirst().allSatisfy { $0.json["object"]?.text == "\"quarantined\"" })
    #expect(items.last?.json["payload"]?["environment"]?.text == "\"Mars\"")
    #expect(items.last?.json["payload"]?["password"] == nil)
  }
}
