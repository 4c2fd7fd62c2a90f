import AppStore
import Entitlements
import Ledger
import Platform
import Queries
import Store
import StrictJSON
import Testing

@testable import Clients
@testable import Recovery

/// What a comparison shows of each field.
@Suite struct ReconciliationTests {
  private static let now: Int64 = 1_767_225_600_000
  private static let day: Int64 = 86_400_000
  private static let key = StreamKey(
    environment: .production, bundleId: "com.example.app", originalTransactionId: "7000")

  /// A transaction of a month that began ten days ago.
  private static func transaction(
    _ more: [(String, JSONValue)] = [], otid: String = "7000", signed: Int64 = now
  ) -> String {
    jws(
      [
        ("originalTransactionId", .string(otid)), ("environment", .string("Production")),
        ("bundleId", .string("com.example.app")), ("transactionId", .string("1\(otid)")),
        ("productId", .string("basic.monthly")), ("signedDate", .integer(signed)),
        ("purchaseDate", .integer(now - 10 * day)), ("expiresDate", .integer(now + 20 * day)),
        ("type", .string("Auto-Renewable Subscription")),
      ], more)
  }

  private static func renewal(
    _ more: [(String, JSONValue)] = [], signed: Int64 = now
  ) -> String {
    jws(
      [
        ("originalTransactionId", .string("7000")), ("environment", .string("Production")),
        ("productId", .string("basic.monthly")), ("signedDate", .integer(signed)),
        ("autoRenewStatus", .integer(1)), ("autoRenewProductId", .string("basic.monthly")),
      ], more)
  }

  /// A JWS without a signature: whoever compares does not prove.
  private static func jws(
    _ members: [(String, JSONValue)], _ more: [(String, JSONValue)]
  ) -> String {
    let names = Set(more.map(\.0))
    let payload = JSONValue.object(members.filter { !names.contains($0.0) } + more).bytes
    return "e30." + String(decoding: Base64URL.encode(payload), as: UTF8.self) + "."
  }

  /// The row of what was known, each a JWS.
  private static func row(_ transactions: [String], _ renewals: [String]) throws -> RowDocument {
    var state = StreamState()
    for (texts, source) in [(transactions, EventSource.transaction), (renewals, .renewal)] {
      for text in texts {
        let decoded = try JournaledNotification.decode(
          signedPayload: ArraySlice(text.utf8), of: source)
        state.evolve(decoded.foldEvent(seq: 1))
      }
    }
    let entitlement = try #require(EntitlementRow(state, by: .current).entitlement(at: now))
    return RowDocument(
      key: key, entitlement: entitlement, eventCount: 1, lastEvent: nil, succeededBy: nil,
      knownAt: nil)
  }

  private static func answer(
    _ transactions: [String], status: Int64? = 1, renewal: String? = ReconciliationTests.renewal()
  ) -> CustomerAnswer {
    let subscriptions = status.map { status in
      [
        SubscriptionStatus(
          subscriptionGroupIdentifier: "1", originalTransactionId: "7000", status: status,
          signedTransactionInfo: transactions.last ?? "", signedRenewalInfo: renewal)
      ]
    }
    return CustomerAnswer(
      bundleId: "com.example.app", environment: .production, subscriptions: subscriptions ?? [],
      transactions: transactions)
  }

  private static func compare(
    _ answer: CustomerAnswer, before: RowDocument?, after: RowDocument?,
    _ outcomes: [Outcome]? = nil
  ) -> Reconciliation {
    Reconciliation(
      key, answer, before: before, after: after,
      outcomes ?? answer.evidence.map { _ in .accepted(seq: 2) }, at: now, durations: [:],
      by: .current)
  }

  private static func texts(_ field: Reconciliation.Field?) -> [String?] {
    [field?.before.text, field?.apple?.text, field?.after.text]
  }

  private static let old = now - 5 * day

  @Test func `fields of transaction and renewal information are compared one by one`() throws {
    let before = try Self.row(
      [Self.transaction(signed: Self.old)], [Self.renewal(signed: Self.old)])
    let transaction = Self.transaction([("expiresDate", .integer(Self.now + 25 * Self.day))])
    let renewal = Self.renewal([
      ("autoRenewProductId", .string("pro.yearly")), ("priceIncreaseStatus", .integer(0)),
      ("gracePeriodExpiresDate", .integer(Self.now + 30 * Self.day)),
    ])
    let found = Self.compare(
      Self.answer([transaction], renewal: renewal), before: before,
      after: try Self.row([transaction], [renewal]))
    let fields = Dictionary(found.fields.map { ($0.name, $0) }, uniquingKeysWith: { $1 })
    #expect(
      Set(fields.keys) == [
        "expires_at", "pending_product_id", "price_increase", "grace_period_expires_at",
      ])
    let end = "\(Self.now + 25 * Self.day)"
    #expect(
      Self.texts(fields["expires_at"]) == ["\(Self.now + 20 * Self.day)", end, end])
    #expect(
      Self.texts(fields["pending_product_id"]) == ["null", "\"pro.yearly\"", "\"pro.yearly\""])
    #expect(Self.texts(fields["price_increase"]) == ["null", "\"pending\"", "\"pending\""])
    #expect(found.differed && found.isChanged && !found.remains)
    #expect(found.json["agreed"]?.text == "true" && found.journaled == 3)
  }

  @Test func `any field that the row does not take over remains different`() throws {
    let row = try Self.row([Self.transaction()], [Self.renewal()])
    let off = Self.renewal([("autoRenewStatus", .integer(0))])
    let found = Self.compare(
      Self.answer([Self.transaction()], renewal: off), before: row, after: row)
    #expect(found.fields.map(\.name) == ["auto_renew"])
    #expect(Self.texts(found.fields.first) == ["true", "false", "true"])
    #expect(found.remains && found.differed && !found.isChanged)
    let revoked = Self.compare(
      Self.answer([Self.transaction()], status: 5), before: row, after: row)
    #expect(revoked.fields.map(\.name) == ["status", "gives_access"])
    #expect(Self.texts(revoked.fields.first) == ["\"active\"", "\"revoked\"", "\"active\""])
    let unknown = Self.compare(
      Self.answer([Self.transaction()], status: 6), before: row, after: row)
    #expect(unknown.fields.map(\.name) == ["status"] && unknown.appleStatus == "status 6")
  }

  @Test func `what the answer does not say does not differ`() throws {
    let row = try Self.row([Self.transaction()], [Self.renewal()])
    let known = Self.answer([Self.transaction()], renewal: nil)
    #expect(Self.compare(known, before: row, after: row).fields.isEmpty)
    // A product without a subscription, and another subscription of the customer.
    let other = Self.transaction([("revocationDate", .integer(Self.old))], otid: "7001")
    let without = Self.answer([Self.transaction(), other], status: nil)
    #expect(Self.compare(without, before: row, after: row).fields.isEmpty)
    #expect(Self.compare(without, before: row, after: row).appleStatus == nil)
    // What is not proven is not what Apple says.
    let forged = Self.answer([Self.transaction([("productId", .string("free"))])], status: nil)
    let refused = Self.compare(
      forged, before: row, after: row, [.refused(.untrusted("x5c_chain"))])
    #expect(refused.fields.isEmpty && refused.remains && refused.refused == ["x5c_chain"])
  }

  @Test func `a customer who had no row gets one`() throws {
    let row = try Self.row([Self.transaction()], [Self.renewal()])
    let found = Self.compare(Self.answer([Self.transaction()]), before: nil, after: row)
    let status = found.fields.first { $0.name == "status" }
    #expect(Self.texts(status) == ["null", "\"active\"", "\"active\""] && !found.remains)
    let nothing = Self.compare(Self.answer([Self.transaction()]), before: nil, after: nil)
    #expect(nothing.remains && nothing.fields.contains { $0.name == "expires_at" })
  }
}
