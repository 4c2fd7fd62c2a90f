import AppStore
import Audit
import Entitlements
import Queries
import Store
import StrictJSON
import Support
import Testing

/// What was told of a customer once, and is not told any more; and what is told of a trial.
@Suite struct CustomerTokenTests {
  private static let former = "00000000-0000-4000-8000-00000000b22d"
  private static let month = "1000 pro.m 25-01-01→25-02-01 bought"

  private func isActive(
    _ ledger: CustomerLedger, _ token: String, asOf: String? = nil
  ) throws -> Bool {
    let customer = try ledger.customer(token, now: "25-01-20", asOf: asOf)
    return customer.entitlements.first?.answer.access != nil
  }

  /// Promise 6: an answer about the past is that of then.
  @Test func `a customer is found as of a moment by the token that was signed by then`() throws {
    var ledger = try CustomerLedger(["pro": ["pro.*"]])
    try ledger.send(
      "SUBSCRIBED", "25-01-01", Self.month, renewal: "renews pro.m 25-02-01",
      more: ["appAccountToken": .string(Self.former.uppercased())])
    try ledger.send(
      "DID_CHANGE_RENEWAL_STATUS", "25-01-10", Self.month, renewal: "ends pro.m 25-02-01")
    #expect(try isActive(ledger, Self.former, asOf: "25-01-05"))
    #expect(try !isActive(ledger, CustomerLedger.token, asOf: "25-01-05"))
    #expect(try !isActive(ledger, Self.former, asOf: "25-01-15"))
    #expect(try isActive(ledger, CustomerLedger.token, asOf: "25-01-15"))
    #expect(try !isActive(ledger, Self.former) && isActive(ledger, CustomerLedger.token))
    #expect(try !ledger.customer(Self.former, now: "25-01-20").isKnown)
    #expect(try ledger.scenario.ledger.verify().findings.map(\.what) == [])
  }

  @Test func `a trial is told beside its basis until it is paid for`() throws {
    var ledger = try CustomerLedger(["pro": ["pro.*"]])
    try ledger.send(
      "SUBSCRIBED", "25-01-01", "1000 pro.m 25-01-01→25-01-08 bought trial",
      renewal: "renews pro.m 25-01-08")
    func access(_ now: String) throws -> NamedAnswer.Access? {
      try ledger.customer(now: now).entitlements.first?.answer.access
    }
    let trial = try #require(try access("25-01-05"))
    #expect(trial.basis == .paid && trial.isTrial && trial.offer?.type == 1)
    try ledger.send(
      "DID_RENEW", "25-01-08", "1001 pro.m 25-01-08→25-02-08 renewed",
      renewal: "renews pro.m 25-02-08")
    let paid = try #require(try access("25-01-20"))
    #expect(paid.basis == .paid && !paid.isTrial && paid.offer == nil)
    let text = NamedAnswer.object.json(
      try #require(try ledger.customer(now: "25-01-05").entitlements.first?.answer)
    ).text
    #expect(text.contains(#""basis":"paid""#) && text.hasSuffix(#""trial":true,"offer_type":1}"#))
  }

  @Test func `the date of a purchase is that of the newest evidence, held or journaled`() throws {
    let ledger = try TestLedger()
    let held = try #require(try ToldLife.all().first { $0.title.hasPrefix("a purchase is said") })
    for index in held.told.indices { try held.tell(index, ledger) }
    let sql = "SELECT signed_date_ms FROM transaction_v1 WHERE transaction_id = '1000'"
    var found: [Int64] = []
    try QueryReader.open(ledger.folder).prepare(sql).run(QueryLimit(seconds: 30)) { row in
      if case .integer(let date) = row[0] { found.append(date) }
      return true
    }
    #expect(found == [1_773_568_800_000])
  }
}
