import Encoding

/// Family Sharing: members have transactions, an app transaction id and notifications of their own,
/// and nothing in them names the purchaser (Supporting Family Sharing in your app).
extension Customer {
  /// The member hears of it within the hour. One member a customer: enough to show every rule.
  mutating func share() {
    guard state == .active, let shared = current, !isMember, members.isEmpty else { return }
    let delay = generator.number(in: 60...3500) * 1000
    var member = Customer(
      app: app, seed: seed, number: number + 500_000, now: now + delay, owner: storefront)
    member.join(shared, anchor, months)
    collect(member.notifications[...])
    members.append(member)
  }

  /// The member's first transaction covers what is left of the purchaser's period.
  private mutating func join(_ shared: Purchase, _ anchor: CivilTime, _ months: Int64) {
    (self.anchor, self.months) = (anchor, months)
    let id = takeId()
    var own = shared
    (own.id, own.originalId, own.webOrderLineItemId) = (id, id, takeId())
    own.originalPurchaseDate = shared.purchaseDate
    (own.price, own.reason) = (nil, .purchase)
    (current, newest) = (own, own)
    renewal = Renewal(
      product: own.product, date: own.expiresDate ?? now, start: own.purchaseDate)
    announce("SUBSCRIBED", "INITIAL_BUY", about: current)
  }

  /// The member's own transaction is revoked; the purchaser's is untouched.
  mutating func stopSharing() {
    guard isMember else { return }
    revoke(Purchase.Revocation(date: now / 1000 * 1000, type: "FAMILY_REVOKE"))
    announce("REVOKE", about: current)
  }

  /// Members live through what happens to the subscription, each with notifications of their own.
  mutating func follow(_ step: Step) {
    let followed: Step
    switch step {
    case .renew, .cancel, .changeMind, .expire, .expireWithdrawn, .upgrade, .downgrade,
      .crossgrade, .keepProduct, .failToRenew, .outlastGrace, .recover, .extend, .stopSharing:
      followed = step
    case .refund where newest?.id == current?.id: followed = .stopSharing
    default: return
    }
    for index in members.indices where members[index].state != .revoked {
      let before = members[index].notifications.count
      members[index].now = max(members[index].now, now)
      members[index].perform(followed)
      collect(members[index].notifications.dropFirst(before))
    }
  }
}
