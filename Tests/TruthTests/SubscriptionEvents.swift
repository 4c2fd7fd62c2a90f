import Entitlements
import Support

/// What can happen while a period runs.
extension SubscriptionPlayer {
  mutating func act() {
    guard let renewal = state.renewal else { return }
    switch chance.below(11) {
    case 0, 1: renewal.isOn ? turnOff() : turnOn()
    case 2, 3: if renewal.isOn { changeProduct() }
    case 4: if renewal.next != renewal.product { takeBackChange() }
    case 5: refundCurrent()
    case 6: refundOlder()
    case 7: extend()
    case 8: increasePrice()
    case 9: if !isFamily { askForRefund() }
    default: reverseOlder()
    }
  }

  /// A refund that Apple asks the owner about, and declines: of any purchase.
  private mutating func askForRefund() {
    let index = Int(chance.below(Int64(state.purchases.count)))
    tell("CONSUMPTION_REQUEST", about: index, v1: ["CONSUMPTION_REQUEST"])
    now += 1 + chance.below(Catalog.hour)
    tell("REFUND_DECLINED", about: index)
  }

  mutating func turnOff() {
    renew { $0.isOn = false }
    tell("DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_DISABLED", v1: ["DID_CHANGE_RENEWAL_STATUS"])
  }

  private mutating func turnOn() {
    renew { $0.isOn = true }
    tell("DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_ENABLED", v1: ["DID_CHANGE_RENEWAL_STATUS"])
  }

  mutating func changeProduct() {
    let product = chance.pick(Catalog.plans).id
    guard let renewal = state.renewal, product != renewal.product, product != renewal.next else {
      return
    }
    guard Catalog.isImmediate(from: renewal.product, to: product) else {
      renew { $0.next = product }
      tell("DID_CHANGE_RENEWAL_PREF", "DOWNGRADE", v1: ["DID_CHANGE_RENEWAL_PREF"])
      return
    }
    replace(by: product)
  }

  private mutating func takeBackChange() {
    renew { $0.next = $0.product }
    tell("DID_CHANGE_RENEWAL_PREF", nil, v1: ["DID_CHANGE_RENEWAL_PREF"])
  }

  private mutating func increasePrice() {
    let wasAsked = state.renewal?.priceIncrease == 0
    renew { $0.priceIncrease = wasAsked ? 1 : 0 }
    tell(
      "PRICE_INCREASE", wasAsked ? "ACCEPTED" : "PENDING",
      v1: wasAsked ? [] : ["PRICE_INCREASE_CONSENT"])
  }

  /// Apple moves the end; the transaction says so, or renewalDate alone.
  private mutating func extend() {
    let later = end + (1 + chance.below(90)) * Catalog.day
    let isInTransaction = chance.once(in: 2)
    change(current) {
      if isInTransaction { $0.expires = later }
      $0.extended = isInTransaction ? nil : later
      $0.ends = later
    }
    renew { $0.renewalDate = later }
    tell("RENEWAL_EXTENDED", about: current)
  }

  // MARK: Refunds

  /// The refund of the purchase in force; of a family member, the end of sharing.
  mutating func refundCurrent() {
    guard now > state.purchases[current].begins else { return }
    takeBack(current)
    renew { $0.isOn = false }
    isOver = true
    tellRefund(of: current)
    if chance.once(in: 4) { moveRefund(of: current) }
    if chance.once(in: 3) { reverse(current) }
  }

  /// The refund of a period charged ahead, before it begins: the running one runs on to its end.
  mutating func refundAhead(_ ahead: Int) {
    takeBack(ahead)
    renew { $0.isOn = false }
    tellRefund(of: ahead)
  }

  private mutating func refundOlder() {
    let older = state.purchases.indices.filter {
      $0 != current && state.purchases[$0].revoked == nil && state.purchases[$0].ends <= now
    }
    guard !older.isEmpty, !isFamily else { return }
    let index = chance.pick(Array(older))
    takeBack(index)
    tellRefund(of: index)
  }

  private mutating func takeBack(_ index: Int) {
    let date = now - chance.below(3 * Catalog.minute)
    change(index) {
      let date = max(date, $0.charged)
      $0.revoked = date
      $0.ends = min($0.ends, date)
    }
    state.failure = nil
  }

  private mutating func tellRefund(of index: Int) {
    if isFamily {
      tell("REVOKE", about: index, v1: ["REVOKE"])
    } else {
      tell("REFUND", about: index, v1: ["CANCEL"])
    }
  }

  /// Apple has changed the date of a refund afterwards; access ended at the first.
  private mutating func moveRefund(of index: Int) {
    guard !isFamily else { return }
    now += 1 + chance.below(11 * Catalog.day)
    change(index) { [now] in $0.revoked = now - 1 }
    tellRefund(of: index)
  }

  private mutating func reverseOlder() {
    let refunded = state.purchases.indices.filter {
      $0 != current && state.purchases[$0].revoked != nil
        && state.purchases[$0].begins < state.purchases[current].begins
    }
    guard let index = refunded.last, !isFamily else { return }
    giveBack(index)
    tell("REFUND_REVERSED", about: index)
  }

  /// The customer lost a dispute: the purchase counts again, to its end.
  private mutating func reverse(_ index: Int) {
    guard !isFamily else { return }
    now += 1 + chance.below(20 * Catalog.day)
    giveBack(index)
    if now < end { isOver = false }
    tell("REFUND_REVERSED", about: index)
  }

  private mutating func giveBack(_ index: Int) {
    // What another purchase replaced ends where that one begins, refunded or not.
    let next = state.purchases.indices.filter { $0 > index }.map { state.purchases[$0] }
      .filter { !$0.isRenewal && $0.everBegins }.map(\.begins).min()
    change(index) {
      $0.revoked = nil
      $0.ends = min($0.paidThrough ?? .max, next ?? .max)
    }
  }
}
