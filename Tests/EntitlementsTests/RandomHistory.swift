import AppStore
import Entitlements
import Support

/// Random histories that use Apple's field names and ignore the fold's rules. All values come from
/// small pools, so that dates collide, keys tie, and impossible combinations are frequent.
enum RandomHistory {
  static let start = TestDate.parse("25-01-01")
  private static let hour: Int64 = 3_600_000
  private static let types = [
    "SUBSCRIBED", "DID_RENEW", "DID_RENEW", "DID_CHANGE_RENEWAL_PREF", "DID_FAIL_TO_RENEW",
    "EXPIRED", "GRACE_PERIOD_EXPIRED", "REFUND", "REFUND", "REFUND_REVERSED", "SOMETHING_NEW",
  ]
  private static let products = ["basic", "pro", "season", nil]

  /// A time in the first eight weeks: mostly whole weeks, often a day or an hour before or after.
  static func time(_ chance: inout SplitMix64) -> Int64 {
    start + chance.below(8) * 7 * TestDate.day
      + chance.pick([
        0, 0, 0, TestDate.day, -TestDate.day, hour, -hour, TestDate.day - 1, TestDate.day + 1,
      ])
  }

  static func wild(_ chance: inout SplitMix64) -> [FoldEvent] {
    let isOneTime = chance.once(in: 5)
    let environment: Environment = chance.once(in: 8) ? .sandbox : .production
    return (0..<chance.below(7) + 1).map { number in
      var event = FoldEvent(
        seq: number + 1, uuid: NotificationUUID(high: chance.next(), low: UInt64(number)),
        notificationType: chance.pick(types),
        subtype: chance.pick([nil, "VOLUNTARY", "GRACE_PERIOD"]),
        signedDate: time(&chance), environment: environment,
        status: chance.pick([nil, 1, 1, 1, 2, 3, 4, 4, 5, 9]))
      if !chance.once(in: 8) {
        event.transaction = transaction(&chance, signed: event.signedDate, isOneTime: isOneTime)
      }
      if !chance.once(in: 4) { event.renewal = renewal(&chance, signed: event.signedDate) }
      return event
    }
  }

  /// With V1 and V2 events about the same transactions, as of an app that switched between them.
  static func mixed(_ chance: inout SplitMix64) -> [FoldEvent] {
    wild(&chance).map { event in
      guard chance.once(in: 3) else { return event }
      var event = event
      event.source = .v1
      event.status = nil
      event.renewal?.signedDate = 0
      event.renewal?.renewalDate = nil
      event.receiptDate = chance.once(in: 3) ? time(&chance) : 0
      event.renewalChangeDate = chance.once(in: 3) ? time(&chance) : nil
      let ids = ["1000", "1001", "1002", "1003"].prefix(Int(chance.below(5)))
      event.transactions = ids.map { id in
        var transaction = transaction(&chance, signed: event.signedDate, isOneTime: false)
        transaction.transactionId = id
        transaction.signedDate = event.signedDate
        transaction.transactionReason = nil
        transaction.billingPlanType = nil
        if transaction.expiresDate == nil { transaction.type = nil }
        return transaction
      }
      return event
    }
  }

  private static func transaction(
    _ chance: inout SplitMix64, signed: Int64, isOneTime: Bool
  ) -> Transaction {
    var transaction = Transaction()
    transaction.transactionId = chance.pick(["1000", "1001", "1002", "1003"])
    transaction.productId = chance.pick(products)
    transaction.type = isOneTime ? "Non-Renewing Subscription" : "Auto-Renewable Subscription"
    transaction.purchaseDate = time(&chance)
    transaction.signedDate = chance.once(in: 4) ? time(&chance) : signed
    transaction.transactionReason = chance.pick(["PURCHASE", "RENEWAL", "RENEWAL", "GIFT", nil])
    transaction.isUpgraded = chance.once(in: 10)
    if !isOneTime && !chance.once(in: 20) {
      transaction.expiresDate =
        chance.once(in: 6)
        ? time(&chance) : transaction.purchaseDate + chance.pick([7, 14, 28]) * TestDate.day
    }
    if chance.once(in: 4) { transaction.revocationDate = time(&chance) }
    setKinds(&transaction, &chance)
    if chance.once(in: 6) { transaction.billingPlanType = "MONTHLY" }
    if chance.once(in: 4) { transaction.webOrderLineItemId = chance.pick(["0", "7", "8"]) }
    if chance.once(in: 20) { transaction.type = "Lease" }
    if chance.once(in: 3) { setSeats(&transaction, &chance) }
    return transaction
  }

  private static func setSeats(_ transaction: inout Transaction, _ chance: inout SplitMix64) {
    var seats = SeatInfo()
    seats.revokedSeatQuantity = chance.pick([nil, 0, 1])
    transaction.multiSeatInfo = seats
    transaction.quantity = chance.pick([1, 2, 5])
    transaction.additionalTransactionReason = chance.pick([nil, "SEAT_ADDITION"])
  }

  /// Sets ownership, offer type and revocation type: values of Apple, and unknown ones.
  static func setKinds(_ transaction: inout Transaction, _ chance: inout SplitMix64) {
    transaction.inAppOwnershipType =
      chance.pick([nil, "PURCHASED", "FAMILY_SHARED", "ASSIGNED", "LEASED"])
    transaction.offerType = chance.pick([nil, nil, 1, 5, 9])
    transaction.revocationType =
      chance.pick([nil, "REFUND_FULL", "FAMILY_REVOKE", "ASSIGNMENT_REVOKE", "LEASE_REVOKE"])
  }

  private static func renewal(_ chance: inout SplitMix64, signed: Int64) -> RenewalInfo {
    var renewal = RenewalInfo()
    renewal.signedDate = chance.once(in: 4) ? time(&chance) : signed
    renewal.productId = chance.pick(products)
    renewal.autoRenewProductId = chance.pick(products)
    renewal.autoRenewStatus = chance.pick([0, 1, 1, nil])
    renewal.renewalDate = chance.once(in: 5) ? nil : time(&chance)
    renewal.isInBillingRetryPeriod = chance.pick([true, false, nil])
    renewal.gracePeriodExpiresDate = chance.once(in: 2) ? nil : time(&chance)
    renewal.expirationIntent = chance.pick([nil, 1, 2])
    return renewal
  }

  /// Times at which an answer may change: next to every date of the history, and far after them
  /// all.
  static func clocks(_ events: [FoldEvent], _ chance: inout SplitMix64, count: Int) -> [Int64] {
    var dates = [time(&chance), start + 400 * TestDate.day]
    for event in events {
      dates.append(event.signedDate)
      for transaction in event.transactions {
        dates += [transaction.purchaseDate, transaction.purchaseDate - TestDate.day]
        dates += [transaction.expiresDate, transaction.revocationDate].compactMap { $0 }
        dates +=
          transaction.expiresDate.map { [$0 + 60 * TestDate.day, $0 + 90 * TestDate.day] } ?? []
      }
      dates += [event.renewal?.renewalDate, event.renewal?.gracePeriodExpiresDate].compactMap { $0 }
    }
    return (0..<count).map { _ in chance.pick(dates) + chance.pick([-1, 0, 0, 1]) }
  }
}
