import AppStore
import Entitlements
import Support
import Testing

/// What a source cannot say it does not erase (promise 6).
@Suite struct SilentSourceTests {
  @Test(arguments: [EventSource.receipt, .v1, .transaction, .v2])
  func `what says nothing of ownership, group and price leaves them as they were, in any order`(
    _ source: EventSource
  ) throws {
    var told = Transaction()
    told.transactionId = "1000"
    told.originalTransactionId = "1000"
    told.productId = "pro"
    told.type = ProductType.autoRenewable
    told.purchaseDate = TestDate.parse("25-01-01")
    told.expiresDate = TestDate.parse("25-02-01")
    told.signedDate = TestDate.parse("25-01-01")
    var listed = told
    listed.signedDate = TestDate.parse("25-01-02")
    told.inAppOwnershipType = "FAMILY_SHARED"
    told.subscriptionGroupIdentifier = "21400001"
    (told.price, told.currency) = (9990, "USD")
    let events = [(told, EventSource.v2), (listed, source)].enumerated().map { index, event in
      FoldEvent(
        seq: Int64(index) + 1, uuid: NotificationUUID(high: 1, low: UInt64(index)),
        notificationType: "SUBSCRIBED", subtype: nil, signedDate: event.0.signedDate,
        source: event.1, transactions: [event.0])
    }
    for events in [events, events.reversed()] {
      let found = Entitlement(folded(events), at: TestDate.parse("25-01-15"))
      let purchase = try #require(found?.purchase)
      #expect(purchase.ownership == "FAMILY_SHARED")
      #expect(purchase.subscriptionGroupId == "21400001")
      #expect(purchase.price?.milliunits == 9990 && purchase.price?.currency == "USD")
    }
  }
}
