import AppStore
import Audit
import Entitlements
import Platform
import Queries
import StrictJSON
import Support
import Testing

/// Lives that were once answered wrong, or are near to one that was: told in each order, with every
/// event twice, they give what is right (promises 6 and 8).
@Suite struct ToldLifeTests {
  @Test(arguments: try ToldLife.all())
  func `what is told gives what is right, in every order`(_ life: ToldLife) throws {
    #expect(!life.told.isEmpty && !life.answers.isEmpty)
    for order in life.orders {
      let ledger = try TestLedger(secrets: [ToldLife.secret])
      for index in order + order.reversed() { try life.tell(index, ledger) }
      ledger.waitUntilJudged()
      for answer in life.answers { try expect(answer, life, ledger, "in the order \(order)") }
      #expect(try ledger.verify().findings.map(\.what) == [])
    }
  }

  private func expect(
    _ answer: JSONValue, _ life: ToldLife, _ ledger: TestLedger, _ how: String
  ) throws {
    let time = ToldLife.date(answer["at"])
    if case .object(let row)? = answer["row"] {
      let past = try ledger.row("1000", asOf: time, environment: life.environment)
      try expect(row, past?.json, "row as of \(time ?? 0) \(how)")
      guard life.last <= time ?? 0 else { return }
      let now = try ledger.row("1000", now: time ?? 0, environment: life.environment)
      try expect(row, now?.json, "row at \(time ?? 0) \(how)")
    } else if case .string(let id)? = answer["line"], case .object(let line)? = answer["has"] {
      let lines = try ledger.reader().transactions(
        "1000", environment: life.environment, bundleId: nil,
        LedgerReader.Question(now: 1_900_000_000_000))
      let found = lines?.first { $0.transactionId == id }
      try expect(line, found.map(TransactionLine.object.json), "line \(id) \(how)")
    } else if case .string(let token)? = answer["token"] {
      var catalog = EntitlementCatalog()
      catalog.add("pro", NamedEntitlement(products: ["pro.*"], accessLeeway: 0), for: nil)
      let customer = try ledger.reader().customer(
        LedgerReader.CustomerQuestion(
          token, .appAccountToken, life.environment, bundleId: nil, catalog, apps: []),
        LedgerReader.Question(asOf: time, now: time ?? 0))
      let isActive = customer.entitlements.first?.answer.access != nil
      #expect(
        JSONValue.boolean(isActive).text == answer["active"]?.text, "token at \(time ?? 0) \(how)"
      )
    } else {
      Issue.record("no such answer: \(answer)")
    }
  }

  private func expect(
    _ right: [(String, JSONValue)], _ found: JSONValue?, _ what: String
  ) throws {
    let found = try #require(found, "\(what)")
    for (name, value) in right {
      let expected = ToldLife.date(value).map(JSONValue.integer) ?? value
      #expect(found.at(name).text == expected.text, "\(name) of the \(what)")
    }
  }
}
