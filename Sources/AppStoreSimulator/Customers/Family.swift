import Platform

/// Family Sharing and assigned seats: a member has its own transactions, app transaction id and
/// notifications, and nothing in them names the purchaser (Supporting Family Sharing in your app).
extension Customer {
  /// Adds the one member, who joins within an hour. One member is enough to exercise every rule.
  mutating func share(as membership: Ownership) {
    guard state == .active, let shared = current, ownership == .purchased, members.isEmpty
    else { return }
    let delay = generator.number(in: 60...3500) * 1000
    var member = Customer(
      app: app, seed: seed, number: number + 500_000, now: now + delay, ownership: membership,
      owner: storefront)
    member.join(shared, anchor, months)
    collect(member.notifications[...])
    members.append(member)
  }

  /// The member's first transaction covers the rest of the purchaser's period.
  private mutating func join(_ shared: Purchase, _ anchor: CivilTime, _ months: Int64) {
    (self.anchor, self.months) = (anchor, months)
    let id = makeId()
    var own = shared
    (own.id, own.originalId, own.webOrderLineItemId) = (id, id, makeId())
    own.originalPurchaseDate = shared.purchaseDate
    (own.price, own.reason) = (nil, .purchase)
    (current, newest) = (own, own)
    renewal = Renewal(
      product: own.product, date: own.expiresDate ?? now, start: own.purchaseDate)
    announce("SUBSCRIBED", "INITIAL_BUY", about: current)
  }

  /// The member's own transaction is revoked; the purchaser's is untouched.
  mutating func stopSharing() {
    guard ownership != .purchased else { return }
    revoke(
      Purchase.Revocation(
        date: now / 1000 * 1000,
        type: ownership == .assigned ? "ASSIGNMENT_REVOKE" : "FAMILY_REVOKE"))
    announce("REVOKE", about: current)
  }

  /// Performs a step of the subscription for each member, which adds the member's notifications.
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
