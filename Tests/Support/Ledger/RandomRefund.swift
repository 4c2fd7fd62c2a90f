import AppStore
package import Entitlements

/// A request for a refund with all on which its decision depends, by chance.
package struct RandomRefund {
  package let request: RefundRequest
  package let facts: RefundFacts
  package let policies: [RefundPolicy]

  package static let asked: Int64 = 1_790_000_000_000
  private static let hour: Int64 = 3_600_000
  private static let types = [
    ProductType.autoRenewable, ProductType.nonRenewing, ProductType.consumable,
    ProductType.nonConsumable,
  ]
  private static let percentages: [Int64?] = [
    nil, nil, 0, 1, 40_000, 99_999, 100_000, 100_001, -1,
  ]

  package init(_ chance: inout SplitMix64) {
    let transaction = Self.purchase(&chance)
    var facts = RefundFacts(transaction, in: chance.pick([.production, .sandbox]))
    facts.refundsBefore = chance.below(3)
    if !chance.once(in: 4) {
      facts.consent = (!chance.once(in: 4), Self.asked + chance.pick([-1, 0, 1, 2]) * Self.hour)
    }
    if !chance.once(in: 3) {
      facts.duration = ProductDuration(milliseconds: (chance.below(90) + 1) * 86_400_000)
    }
    self.facts = facts
    policies = (0..<chance.below(4)).map { Self.policy($0, &chance) }
    let reason = chance.pick(["UNINTENDED_PURCHASE", "LEGAL", nil])
    let event = FoldEvent(
      seq: 1, uuid: NotificationUUID(high: 1, low: 1), notificationType: "CONSUMPTION_REQUEST",
      subtype: nil, signedDate: Self.asked, transactions: [transaction],
      consumptionRequestReason: reason)
    var events = RefundEvent.all(in: event, receivedAt: Self.asked)
    if chance.once(in: 2) {
      let word = RefundStatement(.said(Self.word(&chance)), about: event.uuid)
      events.append(
        RefundEvent(word, uuid: NotificationUUID(high: 2, low: 1), at: Self.asked + Self.hour))
    }
    request = RefundRequest.all(of: events)[0]
  }

  private static func purchase(_ chance: inout SplitMix64) -> Transaction {
    var transaction = Transaction()
    transaction.transactionId = "\(2_000_000_000_000_000 + chance.below(1_000_000))"
    transaction.productId = chance.pick(["pro.monthly", "coins", "season.pass"])
    transaction.type = chance.once(in: 20) ? nil : chance.pick(types)
    transaction.purchaseDate = asked - chance.below(100 * 24) * hour
    if chance.once(in: 10) {
      transaction.inAppOwnershipType = chance.pick(["FAMILY_SHARED", "ASSIGNED"])
    }
    if chance.once(in: 15) { transaction.advancedCommerce = AdvancedCommerce() }
    return transaction
  }

  private static func word(_ chance: inout SplitMix64) -> RefundWord {
    RefundWord(
      customerConsented: !chance.once(in: 5),
      delivery: chance.pick([nil, .delivered, .delivered, .delivered, .serverOutage, .other]),
      sampleContentProvided: chance.pick([nil, true, false, false]),
      consumptionPercentage: chance.pick(percentages),
      preference: chance.pick([nil, nil] + RefundPreference.allCases))
  }

  private static func policy(_ number: Int64, _ chance: inout SplitMix64) -> RefundPolicy {
    var policy = RefundPolicy("policy \(number)", chance.pick(RefundPreference.allCases))
    if chance.once(in: 4) { policy.products = chance.pick([["pro.*"], ["coins", "season.pass"]]) }
    if chance.once(in: 4) { policy.types = [chance.pick(types), chance.pick(types)] }
    if chance.once(in: 6) { policy.reasons = ["UNINTENDED_PURCHASE"] }
    if chance.once(in: 8) { policy.environments = [.production] }
    if chance.once(in: 6) { policy.boughtWithinHours = chance.pick([24, 1_000]) }
    if chance.once(in: 6) { policy.refundsBeforeAtMost = chance.below(3) }
    if chance.once(in: 6) { policy.saidDelivery = [.serverOutage, .other] }
    if chance.once(in: 6) { policy.saidConsumedAtLeast = chance.pick([0, 40_000, 100_000]) }
    if !chance.once(in: 3) {
      policy.delivery = chance.pick([.delivered, .delivered, .qualityIssue])
      policy.sample = chance.once(in: 2)
    }
    if chance.once(in: 4) { policy.waitSeconds = chance.pick([60, 7_200, 39_600]) }
    return policy
  }
}
