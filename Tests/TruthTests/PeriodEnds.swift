import Entitlements
import Support

/// How a period ends: by a renewal, by a charge that failed, or by nothing more.
extension SubscriptionPlayer {
  mutating func endPeriod() {
    guard let renewal = state.renewal, renewal.isOn else { return expire("VOLUNTARY", intent: 1) }
    if renewal.priceIncrease == 0, chance.once(in: 2) {
      return expire("PRICE_INCREASE", intent: 3)
    }
    switch chance.below(20) {
    case 0: expire("PRODUCT_NOT_FOR_SALE", intent: 4)
    case 1...5: fail()
    default: renewOnTime()
    }
  }

  /// - Parameter subtype: nil for another reason.
  mutating func expire(_ subtype: String?, intent: Int64) {
    now = max(now, end) + chance.below(10 * Catalog.minute)
    state.failure = nil
    renew {
      $0.isOn = false
      $0.isRetrying = false
      $0.intent = intent
    }
    isOver = true
    tell("EXPIRED", subtype, about: current, v1: intent == 1 ? [] : ["DID_CHANGE_RENEWAL_STATUS"])
  }

  // MARK: Renewals

  /// Charged up to 24 hours before the period ends.
  private mutating func renewOnTime() {
    let early = chance.once(in: 4) ? 0 : chance.below(Catalog.day)
    now = max(now + 1, end - early)
    let old = current
    // Apple leaves seconds between some periods.
    let hole = early > 0 && chance.once(in: 6) ? chance.below(30 * Catalog.second) : 0
    let begins = end + hole
    let ahead = addRenewal(begins: begins, covers: end)
    tell("DID_RENEW", v1: ["DID_RENEW"])
    guard now < end, chance.once(in: 3) else {
      current = ahead
      return
    }
    now += 1 + chance.below(end - now)
    guard now < end else {
      current = ahead
      return
    }
    actAfterCharge(ahead)
    if current == old && !isOver { current = ahead }
  }

  /// What happens after the next period was charged, and before it begins.
  private mutating func actAfterCharge(_ ahead: Int) {
    switch chance.below(4) {
    case 0:
      let better = Catalog.plans.map(\.id).filter {
        Catalog.isImmediate(from: state.purchases[ahead].product, to: $0)
          && $0 != state.purchases[ahead].product
          && Catalog.isImmediate(from: state.purchases[current].product, to: $0)
          && $0 != state.purchases[current].product
      }
      if !better.isEmpty { replace(by: chance.pick(better), ahead: ahead) }
    case 1:
      refundAhead(ahead)
      expire("VOLUNTARY", intent: 1)
    case 2: turnOff()
    default: changeProductAfterCharge()
    }
  }

  private mutating func changeProductAfterCharge() {
    guard let renewal = state.renewal else { return }
    let later = Catalog.plans.map(\.id).filter {
      $0 != renewal.product && !Catalog.isImmediate(from: renewal.product, to: $0)
    }
    guard !later.isEmpty else { return }
    let product = chance.pick(later)
    renew { $0.next = product }
    tell("DID_CHANGE_RENEWAL_PREF", "DOWNGRADE", v1: ["DID_CHANGE_RENEWAL_PREF"])
  }

  private mutating func addRenewal(begins: Int64, covers: Int64) -> Int {
    let product = state.renewal?.next ?? state.purchases[current].product
    let expires = begins + Catalog.plan(product).days * Catalog.day
    state.purchases.append(
      Purchase(
        product: product, begins: begins, expires: expires, charged: now, isRenewal: true,
        covers: covers, ends: expires, hasSecondId: chance.once(in: 8)))
    state.renewal = Renewal(product: product, next: product, renewalDate: expires)
    state.failure = nil
    return state.purchases.count - 1
  }

  // MARK: Failures

  /// A charge fails: before the period ends, or when it ends.
  private mutating func fail() {
    let isEarly = chance.once(in: 2)
    let late = end + chance.below(Catalog.hour)
    now = max(now + 1, isEarly ? end - 1 - chance.below(Catalog.day) : late)
    let isWeekly = Catalog.plan(state.purchases[current].product).days == 7
    let days = chance.pick(isWeekly ? [nil, nil, 3, 6] : [nil, nil, 3, 16, 28] as [Int64?])
    let isDated = days == nil || !chance.once(in: 5)
    let grace = days.map { end + $0 * Catalog.day }
    state.failure = State.Failure(purchase: current, graceEnd: grace, isDated: isDated)
    renew {
      $0.isRetrying = true
      $0.intent = 2
      $0.graceEnd = isDated ? grace : nil
    }
    // Before the period ends, the status is that of the moment or already the coming one. An end by
    // renewalDate alone is told by the status of the moment alone.
    let isExtended = state.purchases[current].extended != nil
    let coming: Int64 = grace == nil ? 3 : 4
    let status = now < end && (isExtended || chance.once(in: 2)) ? 1 : coming
    tell(
      "DID_FAIL_TO_RENEW", grace == nil ? nil : "GRACE_PERIOD", about: current, status: status,
      v1: ["DID_FAIL_TO_RENEW"])
    switch chance.below(4) {
    case 0: if let grace { recover(before: grace) } else { recoverLater() }
    case 1: recoverLater()
    case 2: cancelWhileFailing()
    default:
      endGrace()
      giveUp()
    }
  }

  /// In the grace period the billing cycle stays as it is.
  private mutating func recover(before grace: Int64) {
    // While the period that is charged for runs.
    let next = Catalog.plan(state.renewal?.next ?? "").days
    now += 1 + chance.below(min(grace, end + next * Catalog.day) - now - 1)
    let keepsGraceDate = chance.once(in: 4)
    let date = state.renewal?.graceEnd
    current = addRenewal(begins: end, covers: end)
    if keepsGraceDate { renew { $0.graceEnd = date } }
    tell("DID_RENEW", "BILLING_RECOVERY", v1: ["DID_RECOVER"])
  }

  private mutating func endGrace() {
    guard let grace = state.failure?.graceEnd else { return }
    now = max(now + 1, grace + chance.below(10 * Catalog.minute))
    // The grace period ends for an owner who is not told its date, too.
    state.failure?.isDated = true
    tell("GRACE_PERIOD_EXPIRED", about: current)
  }

  /// After the grace period a new cycle begins when the charge succeeds.
  private mutating func recoverLater() {
    endGrace()
    now = max(now, end) + 1 + chance.below(25 * Catalog.day)
    current = addRenewal(begins: now, covers: now)
    tell("DID_RENEW", "BILLING_RECOVERY", v1: ["DID_RECOVER"])
  }

  /// A cancellation ends grace and retries at once; paid time stays.
  private mutating func cancelWhileFailing() {
    now = max(now, end) + 1 + chance.below(20 * Catalog.day)
    if let grace = state.failure?.graceEnd, now > grace { endGrace() }
    state.failure = nil
    renew {
      $0.isOn = false
      $0.isRetrying = false
    }
    tell("DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_DISABLED", v1: ["DID_CHANGE_RENEWAL_STATUS"])
    expire("VOLUNTARY", intent: 1)
  }

  /// Apple tries for 60 days.
  private mutating func giveUp() {
    now = (state.purchases[current].paidThrough ?? now) + State.retry
    expire("BILLING_RETRY", intent: 2)
  }
}
