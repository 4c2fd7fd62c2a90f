package import AppStore
package import Entitlements

/// Events of random members, plausible or not: each member is missing, extreme or odd at times.
package enum RandomEvent {
  package static func event(_ number: Int64, _ chance: inout SplitMix64) -> FoldEvent {
    var event = FoldEvent(
      seq: chance.below(.max), uuid: NotificationUUID(high: chance.next(), low: chance.next()),
      notificationType: text(&chance) ?? "REFUND_REVERSED", subtype: text(&chance),
      signedDate: integer(&chance) ?? 0, status: chance.pick([nil, 1, 3, 5]))
    if !chance.once(in: 3) { event.transactions = [transaction(&chance, isFull: false)] }
    if chance.once(in: 2) { event.renewal = renewal(&chance) }
    return event
  }

  /// The state after up to four random events.
  package static func state(_ chance: inout SplitMix64) -> StreamState {
    var state = StreamState()
    for number in 0..<chance.below(5) { state.evolve(event(number, &chance)) }
    return state
  }

  private static func text(_ chance: inout SplitMix64) -> String? {
    chance.pick([
      nil, "", "basic.m", "\u{1F980} r\u{E9}", "1000", String(chance.below(50)),
      // Equal to `String`, but of other bytes.
      "caf\u{E9}", "cafe\u{301}",
      // Almost a number or a UUID.
      "007", "999999999999999999", "1000000000000000000", "+5", "USD",
      "3b8fa75c-f197-4cbf-ad88-38c290f2a4b3", "3B8FA75C-F197-4CBF-AD88-38C290F2A4B3",
      "3b8fa75c-f197-4cbf-ad88-38c290f2a4b", "3b8fa75cf-197-4cbf-ad88-38c290f2a4b3",
    ])
  }

  private static func integer(_ chance: inout SplitMix64) -> Int64? {
    chance.pick([nil, 0, -1, .max, .min, chance.below(1 << 41), -chance.below(99)])
  }

  private static func renewal(_ chance: inout SplitMix64) -> RenewalInfo {
    var renewal = RenewalInfo()
    renewal.originalTransactionId = text(&chance)
    renewal.productId = text(&chance)
    renewal.autoRenewProductId = text(&chance)
    renewal.autoRenewStatus = integer(&chance)
    renewal.renewalDate = integer(&chance)
    renewal.expirationIntent = integer(&chance)
    renewal.isInBillingRetryPeriod = chance.pick([nil, true, false])
    renewal.gracePeriodExpiresDate = integer(&chance)
    renewal.priceIncreaseStatus = integer(&chance)
    renewal.commitmentAutoRenewStatus = integer(&chance)
    renewal.appAccountToken = text(&chance)
    renewal.appTransactionId = text(&chance)
    renewal.signedDate = integer(&chance) ?? 0
    renewal.terms.renewalPrice = integer(&chance)
    renewal.terms.currency = text(&chance)
    renewal.terms.offerType = integer(&chance)
    renewal.terms.offerIdentifier = text(&chance)
    renewal.terms.offerDiscountType = text(&chance)
    renewal.terms.offerPeriod = text(&chance)
    renewal.terms.renewalQuantity = integer(&chance)
    renewal.terms.eligibleWinBackOfferIds = chance.pick([[], ["back"], ["back", ""]])
    if chance.once(in: 3) { renewal.terms.multiSeatInfo = seats(&chance, isFull: false) }
    return renewal
  }

  /// - Parameter isFull: no member is missing.
  package static func transaction(_ chance: inout SplitMix64, isFull: Bool) -> Transaction {
    var transaction = Transaction()
    for field in texts { transaction[keyPath: field] = isFull ? "full" : text(&chance) }
    for field in integers { transaction[keyPath: field] = isFull ? 7 : integer(&chance) }
    transaction.transactionId = isFull ? "1" : text(&chance) ?? "1000"
    transaction.purchaseDate = integer(&chance) ?? 0
    transaction.signedDate = integer(&chance) ?? 0
    transaction.isUpgraded = isFull || chance.once(in: 2)
    if isFull || chance.once(in: 2) {
      transaction.commitment = Transaction.Commitment(
        billingPeriodNumber: chance.below(12), totalBillingPeriods: 12,
        commitmentExpiresDate: isFull ? 5 : integer(&chance))
    }
    if isFull || chance.once(in: 3) {
      transaction.multiSeatInfo = seats(&chance, isFull: isFull)
    }
    return transaction
  }

  private static func seats(_ chance: inout SplitMix64, isFull: Bool) -> SeatInfo {
    var tier = SeatInfo.Tier()
    (tier.price, tier.quantity) = (isFull ? 7 : integer(&chance), isFull ? 7 : integer(&chance))
    var seats = SeatInfo()
    seats.invitationManagement = isFull ? "APPLE" : text(&chance)
    seats.priceTiers = isFull ? [tier] : chance.pick([[], [tier], [tier, SeatInfo.Tier()]])
    seats.renewalPriceTiers = isFull ? [tier] : chance.pick([[], [tier]])
    seats.revokedSeatQuantity = isFull ? 7 : integer(&chance)
    return seats
  }

  package static var texts: [WritableKeyPath<Transaction, String?>] {
    [
      \.originalTransactionId, \.previousOriginalTransactionId, \.webOrderLineItemId,
      \.appTransactionId, \.appAccountToken, \.productId, \.subscriptionGroupIdentifier, \.type,
      \.inAppOwnershipType, \.transactionReason, \.currency, \.storefront, \.offerIdentifier,
      \.offerDiscountType, \.offerPeriod, \.revocationType, \.billingPlanType,
      \.additionalTransactionReason,
    ]
  }

  package static var integers: [WritableKeyPath<Transaction, Int64?>] {
    [
      \.expiresDate, \.quantity, \.price, \.offerType, \.revocationDate, \.revocationReason,
      \.revocationPercentage, \.originalPurchaseDate,
    ]
  }
}
