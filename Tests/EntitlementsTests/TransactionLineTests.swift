import AppStore
import Entitlements
import Support
import Testing

/// The purchases of a stream, as `transaction_v1` has them.
@Suite struct TransactionLineTests {
  private static let key = StreamKey(
    environment: .production, bundleId: "app", originalTransactionId: "1")
  private static let month = 30 * TestDate.day

  private func lines(_ events: [FoldEvent]) -> [TransactionLine] {
    folded(events).lines(of: Self.key)
  }

  /// An event about a purchase of a month for 10.00 that begins after some months.
  private func event(
    _ seq: Int64, _ id: String, month number: Int64, _ type: String = "DID_RENEW",
    signed: Int64? = nil, _ change: (inout Transaction) -> Void = { _ in }
  ) -> FoldEvent {
    var transaction = Transaction()
    transaction.transactionId = id
    transaction.productId = "monthly"
    transaction.type = ProductType.autoRenewable
    transaction.inAppOwnershipType = "PURCHASED"
    transaction.transactionReason = number == 0 ? "PURCHASE" : "RENEWAL"
    transaction.purchaseDate = number * Self.month
    transaction.expiresDate = (number + 1) * Self.month
    transaction.originalPurchaseDate = 0
    transaction.quantity = 1
    (transaction.price, transaction.currency) = (10_000, "EUR")
    transaction.signedDate = signed ?? transaction.purchaseDate
    change(&transaction)
    return FoldEvent(
      seq: seq, uuid: NotificationUUID(high: 1, low: UInt64(seq)), notificationType: type,
      subtype: nil, signedDate: transaction.signedDate, transactions: [transaction])
  }

  @Test func `a renewal is a line with its price, its dates and its places in the journal`() {
    let found = lines([event(3, "2", month: 1), event(2, "1", month: 0), event(7, "1", month: 0)])
    #expect(found.map(\.transactionId) == ["1", "2"])
    #expect(found[0].integer("first_seq") == 2 && found[0].integer("last_seq") == 7)
    #expect(found[1].integer("purchased_at_ms") == Self.month)
    #expect(found[1].integer("ended_at_ms") == 2 * Self.month)
    #expect(found[1].integer("price_milliunits") == 10_000 && found[1].text("currency") == "EUR")
    #expect(found[1].integer("refunded_milliunits") == 0 && found[1].text("reason") == "RENEWAL")
    #expect(found[1]["is_upgraded"] == .flag(false) && found[1]["replaced_by"] == .none)
  }

  @Test(
    arguments: [
      ("REFUND_FULL", nil, "PURCHASED", 10_000), ("REFUND_PRORATED", 40_000, "PURCHASED", 4_000),
      (nil, nil, "PURCHASED", 10_000), (nil, 33_333, "PURCHASED", 3_333),
      (nil, 33_335, "PURCHASED", 3_334), (nil, 200_000, "PURCHASED", 10_000),
      ("FAMILY_REVOKE", nil, "FAMILY_SHARED", 0), ("ASSIGNMENT_REVOKE", nil, "ASSIGNED", 0),
      ("REFUND_FULL", nil, "FAMILY_SHARED", 0),
      ("REFUND_FULL", nil, "ASSIGNED", 0), ("FAMILY_REVOKE", nil, "PURCHASED", 0),
    ] as [(String?, Int64?, String, Int64)])
  func `a refund gives back Apple's share of the price`(
    type: String?, share: Int64?, ownership: String, refunded: Int64
  ) {
    let refund = event(2, "1", month: 0, "REFUND", signed: TestDate.day) {
      $0.inAppOwnershipType = ownership
      $0.revocationDate = TestDate.day
      ($0.revocationType, $0.revocationPercentage) = (type, share)
    }
    let line = lines([event(1, "1", month: 0), refund])[0]
    #expect(line.integer("refunded_milliunits") == refunded)
    #expect(line.integer("ended_at_ms") == TestDate.day)
    // Given back: the line is as before.
    let reversed = event(3, "1", month: 0, "REFUND_REVERSED", signed: 2 * TestDate.day)
    let after = lines([event(1, "1", month: 0), refund, reversed])[0]
    #expect(after.integer("refunded_milliunits") == 0 && after["revoked_at"] == .none)
    #expect(after.integer("ended_at_ms") == Self.month)
  }

  @Test func `a refund of an unknown price is not known`() {
    let refund = event(2, "1", month: 0, "REFUND", signed: TestDate.day) {
      ($0.revocationDate, $0.price, $0.currency) = (TestDate.day, nil, nil)
    }
    #expect(lines([refund])[0]["refunded_milliunits"] == .none)
  }

  @Test func `an upgrade ends a purchase, and what is taken back for it is no refund`() {
    let upgrade = event(2, "2", month: 0) {
      ($0.productId, $0.transactionReason) = ("yearly", "PURCHASE")
      $0.purchaseDate = 5 * TestDate.day
      $0.signedDate = 5 * TestDate.day
    }
    let old = event(3, "1", month: 0, signed: 6 * TestDate.day) {
      $0.isUpgraded = true
      $0.revocationDate = 5 * TestDate.day
    }
    let found = lines([event(1, "1", month: 0), upgrade, old])
    #expect(found[0].text("replaced_by") == "2" && found[0]["is_upgraded"] == .flag(true))
    #expect(found[0].integer("ended_at_ms") == 5 * TestDate.day)
    #expect(found[0].integer("refunded_milliunits") == 0)
    #expect(found[1]["replaced_by"] == .none)
  }

  @Test func `one purchase under two ids is one line, named by the one signed last`() {
    func item(_ transaction: inout Transaction) { transaction.webOrderLineItemId = "77" }
    let found = lines([
      event(1, "2", month: 0) { item(&$0) }, event(5, "1", month: 0, signed: 9) { item(&$0) },
      event(6, "3", month: 1),
    ])
    #expect(found.map(\.transactionId) == ["1", "3"])
    #expect(found[0]["other_transaction_ids"] == .texts(["2"]))
    #expect(found[0].integer("first_seq") == 1 && found[0].integer("last_seq") == 5)
    #expect(found[0].isAbout("2") && !found[0].isAbout("3"))
  }

  @Test func `lines do not depend on order or repetition, and have each transaction once`() {
    Property(histories: TestCount.histories.number / 4).holds("lines") { events, chance in
      let straight = folded(events)
      let found = straight.lines(of: Self.key)
      let mixed = folded(events.shuffled(using: &chance) + events.prefix(3)).lines(of: Self.key)
      if mixed != found { return "the order makes a difference" }
      let ids = found.flatMap { line in
        if case .texts(let others) = line["other_transaction_ids"] {
          return [line.transactionId] + others
        }
        return [line.transactionId]
      }
      if ids.sorted() != straight.transactions.keys.sorted() { return "the ids are \(ids)" }
      return found.allSatisfy { $0.values.count == TransactionField.all.count } ? nil : "values"
    }
  }
}
