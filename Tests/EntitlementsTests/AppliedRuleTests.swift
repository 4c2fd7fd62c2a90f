import AppStore
import Entitlements
import Testing

/// What rules made of a transaction is told in plain words.
@Suite struct AppliedRuleTests {
  private static func event(
    _ number: Int64, _ type: String = "DID_RENEW", signed: String, source: EventSource = .v2,
    _ id: String, _ start: String, _ end: String?, reason: String?,
    _ change: (inout Transaction) -> Void = { _ in }
  ) -> FoldEvent {
    var transaction = Transaction()
    transaction.transactionId = id
    transaction.originalTransactionId = "1000"
    transaction.productId = "pro"
    transaction.type = ProductType.autoRenewable
    transaction.purchaseDate = TestDate.parse(start)
    transaction.expiresDate = end.map(TestDate.parse)
    transaction.transactionReason = reason
    transaction.signedDate = TestDate.parse(signed)
    change(&transaction)
    return FoldEvent(
      seq: number, uuid: NotificationUUID(high: 1, low: UInt64(number)), notificationType: type,
      subtype: nil, signedDate: transaction.signedDate, source: source,
      transactions: [transaction])
  }

  private static func words(_ events: [FoldEvent]) -> [String] {
    folded(events).appliedRules.map { "\($0.transactionId) \($0.words)" }
  }

  @Test func `one purchase under two numbers is told, and which refund took both back`() {
    let first = Self.event(
      1, "SUBSCRIBED", signed: "25-01-01", "1000", "25-01-01", "25-02-01", reason: "PURCHASE"
    ) { $0.webOrderLineItemId = "9" }
    let other = Self.event(
      2, "REFUND", signed: "25-01-10", "1007", "25-01-01", "25-02-01", reason: "PURCHASE"
    ) {
      $0.webOrderLineItemId = "9"
      $0.revocationDate = TestDate.parse("25-01-10")
    }
    #expect(
      Self.words([first, other]) == [
        "1000 the same purchase as 1007 under another number",
        "1000 revoked at 2025-01-10T10:00:00Z, with another number of the same purchase",
        "1007 the same purchase as 1000 under another number",
      ])
  }

  @Test func `a missed upgrade, a lost one and a charge ahead are told`() {
    let year = Self.event(
      1, signed: "25-01-01", "1000", "25-01-01", "26-01-01", reason: "PURCHASE")
    let inside = Self.event(
      2, signed: "25-04-01", "1002", "25-04-01", "25-05-01", reason: "RENEWAL")
    #expect(
      Self.words([year, inside]) == [
        "1000 ended at 2025-04-01T10:00:00Z, as a renewal (transaction 1002) began inside it: "
          + "the upgrade was never told"
      ])
    let upgraded = Self.event(
      1, signed: "25-01-05", "1000", "25-01-01", "25-02-01", reason: "PURCHASE"
    ) { $0.isUpgraded = true }
    #expect(
      Self.words([upgraded]) == [
        "1000 upgraded, but what replaced it was never told: it covers nothing"
      ])
    let ahead = Self.event(
      1, signed: "25-02-28T20:00", "1002", "25-03-01", "25-04-01", reason: "RENEWAL")
    #expect(
      Self.words([ahead]) == [
        "1002 charged before it began: the time from 2025-02-28T10:00:00Z counts as paid, as no "
          + "lapse was told"
      ])
  }

  @Test func `a later cancellation, a moved date and an unknown kind are told`() {
    let bought = Self.event(
      1, signed: "25-01-01", "1000", "25-01-01", "25-02-01", reason: "PURCHASE")
    let cancelled = Self.event(
      2, "CANCEL", signed: "25-01-10", source: .v1, "1000", "25-01-01", "25-02-01", reason: nil
    ) { $0.revocationDate = TestDate.parse("25-01-10") }
    #expect(
      Self.words([bought, cancelled]) == [
        "1000 cancelled at 2025-01-10T10:00:00Z by version 1 or a receipt, later than what "
          + "Apple signed"
      ])
    let refunds = ["25-01-20", "25-01-09"].enumerated().map { index, date in
      Self.event(
        Int64(index + 2), "REFUND", signed: "25-01-2\(2 - index)", "1000", "25-01-01", "25-02-01",
        reason: "PURCHASE"
      ) { $0.revocationDate = TestDate.parse(date) }
    }
    #expect(
      Self.words([bought] + refunds) == [
        "1000 revoked at 2025-01-09T10:00:00Z, the earliest of the dates that Apple told"
      ])
    let lease = Self.event(1, signed: "25-01-01", "1000", "25-01-01", nil, reason: "PURCHASE") {
      $0.type = "Lease"
    }
    #expect(
      Self.words([lease]) == [
        "1000 of a kind that Apple does not document, without an end: it covers nothing"
      ])
  }
}
