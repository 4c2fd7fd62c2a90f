import Encoding
import StrictJSON

/// One customer of the simulated App Store: performs steps, and collects what Apple would send.
///
/// Holds one subscription (one original transaction id), any one-time purchases, and the family
/// members that share the subscription, who are customers of their own. A step that makes no sense
/// now, such as a renewal without a subscription, does nothing.
struct Customer {
  /// Apple's codes for `data.status`.
  enum State: Int64 {
    case active = 1
    case expired, retry, grace, revoked
  }

  let app: SimulatedApp
  let storefront: Storefront
  let appTransactionId: String
  /// Two apps in three set one.
  let appAccountToken: String?
  let isMember: Bool
  let seed: UInt64
  let number: Int

  var generator: SeededGenerator
  /// The customer's clock, milliseconds since 1970.
  var now: Int64
  private(set) var notifications: [SimulatedNotification] = []

  var state = State.active
  var current: Purchase?
  var renewal: Renewal?
  /// The purchase that a refund would be about.
  var newest: Purchase?
  var members: [Customer] = []
  private var nextId: Int64
  private var lastSigned: Int64 = 0
  /// Billing periods are counted from here, so that the 31st comes back after February.
  var anchor = CivilTime(milliseconds: 0)
  var months: Int64 = 0
  /// Hundredths of the list price, and what it becomes at the renewal.
  private var priceLevel: Int64 = 100
  var nextPriceLevel: Int64 = 100

  /// Numbers up to 499,999 have ids and luck of their own; their family members follow above.
  init(app: SimulatedApp, seed: UInt64, number: Int, now: Int64, owner: Storefront? = nil) {
    self.app = app
    self.seed = seed
    self.number = number
    self.now = now / 1000 * 1000
    isMember = owner != nil
    generator = SeededGenerator(seed: seed, stream: UInt64(number))
    let picked = generator.pick(weighted: Storefront.all)
    storefront = owner ?? picked
    let digits = generator.number(in: 1_000_000_000_000_000...9_999_999_999_999_999)
    appTransactionId = "70\(digits)"
    let token = generator.uuid()
    appAccountToken = generator.chance(0.67) && !isMember ? token : nil
    var range = SeededGenerator(seed: seed)
    // 15 digits: a range for each seed, a thousand for each customer.
    nextId = (400_000 + range.number(in: 0...89_999)) * 1_000_000_000 + Int64(number) * 1000
  }

  mutating func perform(_ step: Step) {
    follow(step)
    switch step {
    case .wait(let days): now += days * CivilTime.day
    case .buy(let product, let offer): subscribe(product, offer, "INITIAL_BUY")
    case .resubscribe(let product, let offer): subscribe(product, offer, "RESUBSCRIBE")
    case .renew: renew()
    case .cancel: setAutoRenew(false)
    case .changeMind: setAutoRenew(true)
    case .expire: expire(withdrawn: false)
    case .expireWithdrawn: expire(withdrawn: true)
    case .upgrade(let product): change(to: product, atOnce: true)
    case .downgrade(let product): change(to: product, atOnce: false)
    case .crossgrade(let product):
      change(to: product, atOnce: product.period == current?.product.period)
    case .keepProduct: keepProduct()
    case .failToRenew(let graceDays): failToRenew(graceDays: graceDays)
    case .outlastGrace: outlastGrace()
    case .recover: recover()
    case .askForRefund: announceNewest("CONSUMPTION_REQUEST")
    case .refund(let percent): refund(percent: percent)
    case .declineRefund: announceNewest("REFUND_DECLINED")
    case .reverseRefund: reverseRefund()
    case .share: share()
    case .stopSharing: stopSharing()
    case .raisePrice(let percent, let needsConsent): raisePrice(percent, needsConsent)
    case .acceptPrice: acceptPrice()
    case .extend(let days): extend(days: days)
    case .extensionSummary: announceSummary()
    case .redeem(let offer): redeem(offer)
    case .buyOnce(let product, let quantity): buyOnce(product, quantity)
    case .test: announce("TEST")
    }
  }

  // MARK: Periods

  /// A lapse below 60 days does not restart the subscription (recentSubscriptionStartDate); the
  /// original transaction id stays whatever the lapse.
  private mutating func subscribe(_ product: Product, _ offer: Offer?, _ subtype: String) {
    let lapse = current.map { now - ($0.expiresDate ?? now) } ?? .max
    let start = lapse < 60 * CivilTime.day ? renewal?.start ?? now : now
    startCycle(at: now)
    purchase(product, at: now, .purchase, offer)
    renewal = Renewal(product: product, date: current?.expiresDate ?? now, start: start)
    state = .active
    announce("SUBSCRIBED", subtype, about: current)
  }

  /// The next period begins where this one ends, although it is charged and signed before that: so
  /// the newest purchaseDate may lie in the future.
  private mutating func renew() {
    guard let ended = current?.expiresDate, let next = renewal, next.isOn, state == .active
    else { return }
    // Apple charges up to 24 h before the end; mostly in the last hours.
    now = max(now, ended - generator.number(in: 60...36_000) * 1000)
    settleRenewal(startingAt: ended)
    announce("DID_RENEW", about: current)
  }

  /// Billing retry ends well, within the grace period or after it.
  private mutating func recover() {
    guard let ended = current?.expiresDate, let next = renewal, next.isRetrying == true
    else { return }
    // Paid within the grace period the billing cycle stays; after it a new one starts today.
    let isInGrace = next.graceEnd.map { now < $0 } ?? false
    let start = isInGrace ? ended : now
    if !isInGrace { startCycle(at: start) }
    settleRenewal(startingAt: start)
    announce("DID_RENEW", "BILLING_RECOVERY", about: current)
  }

  /// The paid period that follows, and renewal information that has forgotten every failure.
  private mutating func settleRenewal(startingAt start: Int64) {
    guard let next = renewal else { return }
    priceLevel = nextPriceLevel
    purchase(next.product, at: start, .renewal, next.offer)
    renewal = Renewal(
      product: next.product, date: current?.expiresDate ?? start, start: next.start)
    state = .active
  }

  /// The end, and why (expirationIntent): 1 cancelled, 2 billing, 3 no consent to a price, 4 not
  /// for sale, 5 anything else. Signed some seconds to minutes after the period, as seen in
  /// production; after billing retry 60 days later, when Apple gives up.
  private mutating func expire(withdrawn: Bool) {
    guard let ended = current?.expiresDate, var next = renewal, state != .revoked else { return }
    let subtype: String?
    var after = generator.number(in: 20...600) * 1000
    if state == .retry || state == .grace {
      (subtype, next.intent) = ("BILLING_RETRY", 2)
      after += 60 * CivilTime.day
    } else if withdrawn {
      (subtype, next.intent) = ("PRODUCT_NOT_FOR_SALE", 4)
    } else if !next.isOn {
      (subtype, next.intent) = ("VOLUNTARY", 1)
      next.winBackOffers = [Offer.comeBack.identifier].compactMap(\.self)
    } else if next.consent == 0 {
      (subtype, next.intent) = ("PRICE_INCREASE", 3)
    } else {
      (subtype, next.intent) = (nil, 5)
    }
    now = max(now, ended + after)
    next.isOn = false
    next.isRetrying = false
    next.graceEnd = nil
    next.offer = nil
    renewal = next
    state = .expired
    announce("EXPIRED", subtype, about: current)
  }

  /// `expiresDate` stays: paid time is never cut by a failure. Grace ends by its own date.
  private mutating func failToRenew(graceDays: Int64?) {
    guard let ended = current?.expiresDate, state == .active, renewal?.isOn == true
    else { return }
    now = max(now, ended + generator.number(in: 30...1800) * 1000)
    renewal?.intent = 2
    renewal?.isRetrying = true
    renewal?.graceEnd = graceDays.map { ended + $0 * CivilTime.day }
    state = graceDays == nil ? .retry : .grace
    announce("DID_FAIL_TO_RENEW", graceDays == nil ? nil : "GRACE_PERIOD", about: current)
  }

  /// Not the end: Apple goes on trying, only service stops. The grace date stays as it was.
  private mutating func outlastGrace() {
    guard state == .grace, let end = renewal?.graceEnd else { return }
    now = max(now, end + generator.number(in: 20...300) * 1000)
    state = .retry
    announce("GRACE_PERIOD_EXPIRED", about: current)
  }

  /// The same transaction id with a later end. Apple calls expiresDate static for a transaction and
  /// shows no sample of an extended one, so both it and renewalDate move here.
  private mutating func extend(days: Int64) {
    guard state == .active, let end = current?.expiresDate else { return }
    let later = end + days * CivilTime.day
    current?.expiresDate = later
    renewal?.date = later
    startCycle(at: later)
    announce("RENEWAL_EXTENDED", about: current)
  }

  // MARK: The customer's choices

  /// Takes nothing away before the end of the period, unless the period is already over.
  private mutating func setAutoRenew(_ isOn: Bool) {
    guard let next = renewal, next.isOn != isOn else { return }
    renewal?.isOn = isOn
    if state == .grace || state == .retry {
      // "The system immediately cancels": no more attempts, no more service.
      renewal?.isRetrying = false
      state = .expired
    }
    announce(
      "DID_CHANGE_RENEWAL_STATUS", isOn ? "AUTO_RENEW_ENABLED" : "AUTO_RENEW_DISABLED",
      about: current)
  }

  /// An upgrade is a new purchase that starts now, and the old period ends unannounced; a downgrade
  /// only changes what renews.
  private mutating func change(to product: Product, atOnce: Bool) {
    guard state == .active, renewal != nil else { return }
    renewal?.product = product
    renewal?.isOn = true
    if atOnce {
      startCycle(at: now)
      purchase(product, at: now, .purchase, nil)
      renewal?.date = current?.expiresDate ?? now
    }
    announce("DID_CHANGE_RENEWAL_PREF", atOnce ? "UPGRADE" : "DOWNGRADE", about: current)
  }

  /// A downgrade taken back: the only preference change without subtype.
  private mutating func keepProduct() {
    guard let product = current?.product else { return }
    renewal?.product = product
    announce("DID_CHANGE_RENEWAL_PREF", about: current)
  }

  /// With consent pending (priceIncreaseStatus 0) the subscription will not renew.
  private mutating func raisePrice(_ percent: Int64, _ needsConsent: Bool) {
    guard state == .active, renewal != nil else { return }
    nextPriceLevel = priceLevel * (100 + percent) / 100
    renewal?.consent = needsConsent ? 0 : 1
    announce("PRICE_INCREASE", needsConsent ? "PENDING" : "ACCEPTED", about: current)
  }

  private mutating func acceptPrice() {
    guard renewal?.consent == 0 else { return }
    renewal?.consent = 1
    announce("PRICE_INCREASE", "ACCEPTED", about: current)
  }

  /// Redeemed on a running subscription, an offer applies from the next period: only the renewal
  /// information speaks of it until then.
  private mutating func redeem(_ offer: Offer) {
    guard state == .active, renewal != nil else { return }
    renewal?.offer = offer
    announce("OFFER_REDEEMED", about: current)
  }

  /// Each purchase is its own original transaction, and has neither status nor renewal information.
  private mutating func buyOnce(_ product: Product, _ quantity: Int64) {
    let id = takeId()
    newest = Purchase(
      id: id, originalId: id, product: product, purchaseDate: now, originalPurchaseDate: now,
      quantity: quantity, price: storefront.price(product.price) * quantity, reason: .purchase)
    announce("ONE_TIME_CHARGE", about: newest)
  }

  // MARK: Money back

  private mutating func announceNewest(_ type: String) { announce(type, about: newest) }

  /// Also a refund in part ends access to a subscription; its percentage is for the money.
  private mutating func refund(percent: Int64) {
    revoke(
      Purchase.Revocation(
        date: now / 1000 * 1000, type: percent == 100 ? "REFUND_FULL" : "REFUND_PRORATED",
        percentage: percent * 1000))
    announce("REFUND", about: newest)
  }

  /// Revokes the newest purchase, and with it the subscription where it is the running one.
  mutating func revoke(_ revocation: Purchase.Revocation) {
    newest?.revocation = revocation
    guard newest?.id == current?.id else { return }
    current = newest
    renewal?.isOn = false
    state = .revoked
  }

  /// The revocation's fields are gone from the transaction afterwards; its end is where it was.
  private mutating func reverseRefund() {
    guard newest?.revocation != nil else { return }
    newest?.revocation = nil
    if newest?.id == current?.id {
      current = newest
      state = now < current?.expiresDate ?? now ? .active : .expired
    }
    announce("REFUND_REVERSED", about: newest)
  }

  // MARK: Numbers and dates

  mutating func collect(_ more: ArraySlice<SimulatedNotification>) { notifications += more }

  private mutating func startCycle(at moment: Int64) {
    (anchor, months) = (CivilTime(milliseconds: moment), 0)
  }

  /// Makes the period that starts then the current one. Months are counted from the anchor and not
  /// from the period before, so the 31st comes back after February; an offer with a length of its
  /// own moves the anchor to its end.
  private mutating func purchase(
    _ product: Product, at start: Int64, _ reason: Purchase.Reason, _ offer: Offer?
  ) {
    let id = takeId()
    let end: Int64
    switch (offer?.freeDays, product.period) {
    case (let days?, _):
      end = start + days * CivilTime.day
      startCycle(at: end)
    case (nil, .week): end = start + 7 * CivilTime.day
    case (nil, let period):
      months += period == .year ? 12 : 1
      end = anchor.adding(months: months).milliseconds
    }
    current = Purchase(
      id: id, originalId: current?.originalId ?? id, webOrderLineItemId: takeId(),
      product: product, purchaseDate: start,
      originalPurchaseDate: current?.originalPurchaseDate ?? start, expiresDate: end,
      price: isMember ? nil : price(of: product, offer, level: priceLevel), reason: reason,
      offer: offer)
    newest = current
  }

  /// What the product costs here, in milliunits.
  func price(of product: Product, _ offer: Offer?, level: Int64) -> Int64 {
    storefront.price(product.price * level / 100 * (offer?.percent ?? 100) / 100)
  }

  /// Ids grow in time like Apple's, with gaps: other customers buy meanwhile.
  mutating func takeId() -> String {
    defer { nextId += generator.number(in: 1...4) }
    return String(nextId)
  }

  /// Apple signs a moment after what happened; later notifications are signed later.
  mutating func announce(
    _ type: String, _ subtype: String? = nil, about purchase: Purchase? = nil
  ) {
    if type != "TEST" && purchase == nil { return }
    let signed = max(now + generator.number(in: 300...2500), lastSigned + 1000)
    lastSigned = signed
    // The parts are signed some milliseconds before the whole.
    let data = data(type, purchase, signed: signed - generator.number(in: 30...90))
    append(type, subtype, signed, ("data", data))
  }

  /// Speaks about no customer, so no row may come of it.
  private mutating func announceSummary() {
    lastSigned = max(now, lastSigned) + 60_000
    append("RENEWAL_EXTENSION", "SUMMARY", lastSigned, ("summary", summary()))
  }

  private mutating func append(
    _ type: String, _ subtype: String?, _ signed: Int64, _ body: (String, JSONValue)
  ) {
    let uuid = generator.uuid()
    notifications.append(
      SimulatedNotification(
        uuid: uuid, signedDate: signed, type: type, subtype: subtype,
        payload: payload(type, subtype, uuid: uuid, signed: signed, body)))
  }
}
