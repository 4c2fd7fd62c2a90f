import AppStore
import Entitlements

/// What could be known of the truth from what was told: the definition of *avoidable*.
///
/// An answer of the ledger is **avoidably wrong** in a field if it differs from the truth and the
/// field could be known. A field could be known if the objects that decide it were told, and the
/// newest telling of each still said what was true at the newest moment that anything told is of.
/// Then the truth of that moment is known, and so is its continuation by the clock alone.
///
/// In detail, with `moment` that newest moment, and the truth that of `moment` continued to the
/// time that is asked about:
///
/// - A purchase is *known* if it was told, and says at `moment` what it said when it was told last.
/// - The renewal is known if it was told, and says at `moment` what it said then (of version 1: in
///   what version 1 says), and the same charge or none was failing.
/// - The status is known if one was told, and the truth of then, continued, has the status of now.
/// - *By the renewal*: the renewal was told by what Apple signs, and renewal and status are known.
///   Then a renewal date later than any known purchase stands for a purchase that was not told.
///
/// What decides, by the status at the time:
///
/// - active: the purchase that covers; or, by the renewal, its date.
/// - grace period, billing retry: the renewal, and the last purchase or the status.
/// - revoked: the last purchase; a status alone may be about another one.
/// - expired, access: the last purchase, unless an older telling of the renewal promises grace and
///   nothing known takes it back; or, by the renewal, its date.
/// - expired, status: the last purchase, and the renewal where any was told; or, by the renewal,
///   its date, unless a later purchase was told (which was refunded).
///
/// Auto-renew is decided by the renewal. If it was told before the newest charge, and that charge
/// was a purchase, it is known to be on, because a purchase turns it on; that it is not known is
/// the other right answer. A pending product is known with renewal and product. A grace period
/// that Apple gives no date of is known for three days, the shortest that Apple offers.
///
/// An end that was not told is not guessed from other signs: while a purchase that was refunded, or
/// replaced by one that was not told, would decide as it was told, nothing is known but that
/// something else is active. A refund told of one transaction id of a purchase is taken back by
/// word of that id or of the reversal, not by the other id: Apple does not say whether it names
/// both.
///
/// That a one-time product is a consumable, which gives no access, or does not renew, is known
/// where its kind was told: version 1 tells none.
///
/// Nothing here folds. Whether a telling is still right is judged with the truth, so a field is
/// left out rather than guessed, and no rule of the fold is used to judge the fold.
struct Knowable {
  enum Field: String, CaseIterable {
    case access, status, product, expires, autoRenew, pending
  }

  private(set) var fields: Set<Field> = []
  let truth: Truth
  /// Whether "not known" is right as well for auto-renew.
  private(set) var autoRenewMayBeUnknown = false

  private let life: Life
  private let time: Int64
  private let moment: Int64
  private let now: State
  /// By purchase, the moment of which it was told last.
  private var told: [Int: Int64] = [:]
  /// By transaction id that was told as refunded last, the purchase.
  private var refunded: [String: Int] = [:]
  private var renewal: (moment: Int64, teller: Fact.Teller)?
  private var status: Int64?

  /// Nil if nothing was told until a time, or if version 1, which has no date of its own, would
  /// show something before it was sent or long after.
  init?(_ life: Life, _ facts: [Fact], at time: Int64) {
    let used = facts.filter { $0.moment <= time && $0.date <= time }
    guard let moment = used.map(\.moment).max(), let now = life.state(at: moment),
      let truth = life.truth(since: moment, at: time),
      facts.allSatisfy({ ($0.moment <= time) == ($0.date <= time) })
    else { return nil }
    (self.life, self.time, self.moment, self.now, self.truth) = (life, time, moment, now, truth)
    for fact in used.sorted(by: { $0.moment < $1.moment }) { hear(fact) }
    if life.isSubscription {
      judge()
    } else if isKnown(truth.purchase), isKindTold(used) {
      fields = [.access, .status, .product, .expires]
    }
  }

  private mutating func hear(_ fact: Fact) {
    for index in fact.purchases { told[index] = max(told[index] ?? 0, fact.moment) }
    for transaction in fact.event.transactions { hear(transaction, fact) }
    if let teller = fact.renewal, fact.moment >= renewal?.moment ?? 0 {
      renewal = (fact.moment, teller)
    }
    if fact.event.status != nil { status = max(status ?? 0, fact.moment) }
  }

  /// Facts are heard in the order of their moments.
  private mutating func hear(_ transaction: Transaction, _ fact: Fact) {
    let id = transaction.transactionId
    guard let index = Telling.purchase(id) else { return }
    if fact.event.notificationType == "REFUND_REVERSED" {
      refunded = refunded.filter { $0.value != index }
    }
    refunded[id] = transaction.revocationDate == nil ? nil : index
  }

  // MARK: What is known

  private func isKnown(_ index: Int) -> Bool {
    guard let moment = told[index], let then = life.state(at: moment)?.purchases[index]
    else { return false }
    let isRefunded = refunded.values.contains { $0 == index }
    return then.saysTheSame(as: now.purchases[index])
      && !(isRefunded && now.purchases[index].revoked == nil)
  }

  private func isKindTold(_ facts: [Fact]) -> Bool {
    life.productType == "Non-Consumable"
      || facts.contains { $0.event.transactions.contains { $0.type == life.productType } }
  }

  /// An end is not known, of a purchase that would cover the time, or be the last, without it: that
  /// of a refund, or of a replacement by a purchase that was not told.
  private var isEndMissed: Bool {
    now.purchases.indices.contains { index in
      let purchase = now.purchases[index]
      return (purchase.revoked != nil || told[truth.purchase] == nil)
        && told[index] != nil && !isKnown(index)
        && (time < purchase.paidThrough ?? .max
          || purchase.begins > now.purchases[truth.purchase].begins)
    }
  }

  private var isRenewalKnown: Bool {
    guard let (moment, teller) = renewal, let then = life.state(at: moment),
      let one = then.renewal, let other = now.renewal, then.failure == now.failure
    else { return false }
    return teller == .signed ? one == other : one.saysTheSameInVersionOne(as: other)
  }

  private var isStatusKnown: Bool {
    status.flatMap { life.truth(since: $0, at: time) }?.status == truth.status
  }

  /// The renewal was told last before the newest charge.
  private var isRenewalOfBefore: Bool {
    renewal.map { !isRenewalKnown && now.purchases[truth.purchase].charged > $0.moment } ?? false
  }

  /// An older telling of the renewal promises grace, and nothing known takes it back.
  private var isGracePromised: Bool {
    guard let renewal, !isRenewalKnown, !isRenewalOfBefore else { return false }
    return life.state(at: renewal.moment)?.renewal?.graceEnd ?? 0 > time
  }

  // MARK: Fields

  private mutating func judge() {
    let purchase = now.purchases[truth.purchase]
    let isPurchaseKnown = isKnown(truth.purchase) && purchase.extended == nil
    let byRenewal = isRenewalKnown && renewal?.teller == .signed && isStatusKnown
    judgeRenewal(isPurchaseKnown)
    if isEndMissed, truth.status != .active { return }
    switch truth.status {
    case .active: judgeActive(isPurchaseKnown, byRenewal)
    case .gracePeriod, .billingRetry:
      if isRenewalKnown, isPurchaseKnown || byRenewal, isGraceKnown {
        fields.formUnion([.access, .status])
      }
      if isRenewalKnown, isPurchaseKnown { fields.formUnion([.product, .expires]) }
    case .revoked:
      if isPurchaseKnown { fields.formUnion([.access, .status, .product]) }
    case .expired:
      if (isPurchaseKnown && !isGracePromised) || byRenewal { fields.insert(.access) }
      let isLastTold = told.keys.max() ?? 0 <= truth.purchase
      if (isPurchaseKnown && (isRenewalKnown || renewal == nil)) || (byRenewal && isLastTold) {
        fields.insert(.status)
      }
      if isPurchaseKnown { fields.formUnion([.product, .expires]) }
    }
    if isRenewalKnown, fields.contains(.product) { fields.insert(.pending) }
  }

  private mutating func judgeRenewal(_ isPurchaseKnown: Bool) {
    let purchase = now.purchases[truth.purchase]
    if isRenewalKnown {
      fields.insert(.autoRenew)
    } else if isRenewalOfBefore, !purchase.isRenewal, isPurchaseKnown,
      let then = life.state(at: purchase.charged)?.renewal, let renewal = now.renewal,
      then.saysTheSameInVersionOne(as: renewal)
    {
      fields.formUnion([.autoRenew, .pending])
      autoRenewMayBeUnknown = true
    }
  }

  private mutating func judgeActive(_ isPurchaseKnown: Bool, _ byRenewal: Bool) {
    let date = byRenewal ? now.renewal?.renewalDate : nil
    let isDateOfEnd = date != nil && date == truth.expires
    if isPurchaseKnown || (isDateOfEnd && date ?? 0 > time) {
      fields.formUnion([.access, .status])
    }
    if isPurchaseKnown || (isDateOfEnd && now.renewal?.product == truth.product) {
      fields.insert(.product)
    }
    let isChainKnown = truth.chain.allSatisfy { isKnown($0) && now.purchases[$0].extended == nil }
    if isChainKnown || isDateOfEnd { fields.insert(.expires) }
  }

  /// Whether it is known that there is a grace period, and that it runs or is over.
  private var isGraceKnown: Bool {
    guard let failure = now.failure, !failure.isDated else { return true }
    let end = now.purchases[failure.purchase].paidThrough ?? 0
    return isStatusKnown && time < end + 3 * Catalog.day
  }
}
