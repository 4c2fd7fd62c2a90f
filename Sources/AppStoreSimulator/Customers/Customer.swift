import Platform
import StrictJSON

/// One customer of the simulated App Store: performs steps, and collects the notifications that
/// Apple would send.
///
/// A customer has one subscription (one original transaction id), any number of one-time purchases,
/// and members (of a family, or with a seat) who are customers themselves. A step that is
/// impossible in the current state, such as a renewal without a subscription, does nothing.
struct Customer {
  /// Apple's codes for `data.status`.
  enum State: Int64 {
    case active = 1
    case expired, retry, grace, revoked
  }

  let app: SimulatedApp
  let storefront: Storefront
  let appTransactionId: String
  /// Set for two customers in three.
  let appAccountToken: String?
  let ownership: Ownership
  private let seed: UInt64
  private let number: Int

  var generator: SeededGenerator
  /// The customer's current time, milliseconds since 1970.
  var now: Int64
  private(set) var notifications: [SimulatedNotification] = []

  var state = State.active
  var current: Purchase?
  var renewal: Renewal?
  /// The newest purchase, which a refund is about.
  var newest: Purchase?
  /// Why the customer last asked for a refund.
  private(set) var refundReason = RefundRequest.Reason.unintended
  /// Of a subscription with seats.
  var team: Team?
  private var members: [Customer] = []
  private var token: ExternalToken?
  private var nextId: Int64
  private(set) var lastSigned: Int64 = 0
  /// Billing periods are counted from this date, so that the 31st is used again after February.
  private var anchor = CivilTime(milliseconds: 0)
  private var months: Int64 = 0
  /// The current price and that of the next renewal, in percent of the list price.
  private var priceLevel: Int64 = 100
  var nextPriceLevel: Int64 = 100

  /// - Parameters:
  ///   - number: up to 499,999; ids and random choices follow from it. A member has the
  ///     purchaser's number plus 500,000.
  ///   - now: the customer's first time, milliseconds since 1970, truncated to seconds.
  ///   - ownership: how the customer gets the subscription.
  ///   - owner: for a member, the purchaser's storefront.
  init(
    app: SimulatedApp, seed: UInt64, number: Int, now: Int64, ownership: Ownership = .purchased,
    owner: Storefront? = nil
  ) {
    self.app = app
    self.seed = seed
    self.number = number
    self.now = now / 1000 * 1000
    self.ownership = ownership
    generator = SeededGenerator(seed: seed, stream: UInt64(number))
    let picked = generator.pick(weighted: Storefront.all)
    storefront = owner ?? picked
    let digits = generator.number(in: 1_000_000_000_000_000...9_999_999_999_999_999)
    appTransactionId = "70\(digits)"
    let token = generator.uuid()
    appAccountToken = generator.chance(0.67) && ownership == .purchased ? token : nil
    var range = SeededGenerator(seed: seed)
    // 15 digits: each seed has a range, and each customer a thousand ids in it.
    nextId = (400_000 + range.number(in: 0...89_999)) * 1_000_000_000 + Int64(number) * 1000
  }

  /// Performs one step of a script, first for the members whom it affects.
  mutating func perform(_ step: Step) {
    follow(step)
    switch step {
    case .wait(let days): now += days * CivilTime.day
    case .buy(let product, let offer): subscribe(product, offer, "INITIAL_BUY")
    case .resubscribe(let product, let offer): subscribe(product, offer, "RESUBSCRIBE")
    case .renew: renew()
    case .cancel: setAutoRenew(false)
    case .changeMind: setAutoRenew(true)
    case .expire: expire()
    case .upgrade(let product): change(to: product, atOnce: true)
    case .downgrade(let product): change(to: product, atOnce: false)
    case .crossgrade(let product):
      change(to: product, atOnce: product.period == current?.product.period)
    case .keepProduct: keepProduct()
    case .failToRenew(let graceDays): failToRenew(graceDays: graceDays)
    case .outlastGrace: outlastGrace()
    case .recover: recover()
    case .askForRefund(let reason):
      refundReason = reason
      announceNewest("CONSUMPTION_REQUEST")
    case .refund(let percentage): refund(percentage)
    case .declineRefund: announceNewest("REFUND_DECLINED")
    case .reverseRefund: reverseRefund()
    case .share: share(as: .familyShared)
    case .assign: share(as: .assigned)
    case .stopSharing: stopSharing()
    case .buySeats(let product, let count, let mode):
      team = Team(mode: mode, renewalSeats: count)
      claimSeats(count)
      subscribe(product, nil, "INITIAL_BUY")
    case .addSeats(let count): addSeats(count)
    case .dropSeats(let count): dropSeats(count)
    case .refundSeats(let count): refundSeats(count)
    case .unclaimSeats(let count): unclaimSeats(count)
    case .raisePrice(let percent, let needsConsent): raisePrice(percent, needsConsent)
    case .acceptPrice: acceptPrice()
    case .extend(let days): extend(days: days)
    case .extensionSummary:
      announce("RENEWAL_EXTENSION", "SUMMARY", content: ("summary", summary()))
    case .redeem(let offer): redeem(offer)
    case .buyOnce(let product, let quantity): buyOnce(product, quantity)
    case .migrate: migrate()
    case .changeMetadata: announce("METADATA_UPDATE", about: current)
    case .changePrice(let percent): changePrice(percent)
    case .rescindConsent: announce("RESCIND_CONSENT", content: ("appData", appData()))
    case .makeToken(let type): makeToken(type)
    case .remindOfToken: announceToken("ACTIVE_TOKEN_REMINDER")
    case .missReport: announceToken("UNREPORTED")
    case .test: announce("TEST")
    }
  }

  // MARK: Periods

  /// A lapse of less than 60 days does not restart the subscription (recentSubscriptionStartDate).
  /// The original transaction id stays the same after any lapse.
  private mutating func subscribe(_ product: Product, _ offer: Offer?, _ subtype: String) {
    let lapse = current.map { now - ($0.expiresDate ?? now) } ?? .max
    let start = lapse < 60 * CivilTime.day ? renewal?.start ?? now : now
    startCycle(at: now)
    purchase(product, at: now, .purchase, offer)
    renewal = Renewal(product: product, date: current?.expiresDate ?? now, start: start)
    state = .active
    announce("SUBSCRIBED", subtype, about: current)
  }

  /// The next period begins when this one ends, although it is charged and signed earlier. The
  /// newest purchaseDate may therefore be in the future.
  private mutating func renew() {
    guard let period = current, let ended = period.expiresDate, let next = renewal, next.isOn,
      state == .active
    else { return }
    // Apple charges up to 24 hours before the end, mostly in the last hours; in the sandbox, whose
    // periods last minutes, shortly before.
    let ahead = generator.number(in: 60...36_000) * 1000
    now = max(
      now, ended - (app.isProduction ? ahead : min(ahead, (ended - period.purchaseDate) / 60)))
    settleRenewal(startingAt: ended)
    announce("DID_RENEW", about: current)
  }

  /// A retried charge succeeds, within the grace period or after it.
  private mutating func recover() {
    guard let ended = current?.expiresDate, let next = renewal, next.isRetrying == true
    else { return }
    // A payment within the grace period continues the billing cycle; a later one starts a new
    // cycle.
    let isInGrace = next.graceEnd.map { now < $0 } ?? false
    let start = isInGrace ? ended : now
    if !isInGrace { startCycle(at: start) }
    settleRenewal(startingAt: start)
    announce("DID_RENEW", "BILLING_RECOVERY", about: current)
  }

  /// Makes the paid period that follows, and renewal information without any sign of a failure.
  private mutating func settleRenewal(startingAt start: Int64) {
    guard let next = renewal else { return }
    priceLevel = nextPriceLevel
    purchase(next.product, at: start, .renewal, next.offer)
    renewal = Renewal(
      product: next.product, date: current?.expiresDate ?? start, start: next.start)
    state = .active
  }

  /// Ends the subscription, for a reason (expirationIntent): 1 cancelled, 2 billing failed, 3 no
  /// consent to a price increase, 5 other. EXPIRED is signed seconds to minutes after the period,
  /// as observed in production; after billing retry 60 days later, when Apple gives up.
  private mutating func expire() {
    guard let ended = current?.expiresDate, var next = renewal, state != .revoked else { return }
    let subtype: String?
    var after = generator.number(in: 20...600) * 1000
    if state == .retry || state == .grace {
      (subtype, next.intent) = ("BILLING_RETRY", 2)
      after += 60 * CivilTime.day
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

  /// A failed charge does not change `expiresDate`. The grace period ends by its own date.
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

  /// The grace period ends; Apple continues to retry the charge. The grace date stays as it was.
  private mutating func outlastGrace() {
    guard state == .grace, let end = renewal?.graceEnd else { return }
    now = max(now, end + generator.number(in: 20...300) * 1000)
    state = .retry
    announce("GRACE_PERIOD_EXPIRED", about: current)
  }

  /// The same transaction id with a later end. Apple documents expiresDate as static for a
  /// transaction and gives no example of an extended one, so both expiresDate and renewalDate
  /// change here.
  private mutating func extend(days: Int64) {
    guard state == .active, let end = current?.expiresDate else { return }
    let later = end + days * CivilTime.day
    current?.expiresDate = later
    renewal?.date = later
    startCycle(at: later)
    announce("RENEWAL_EXTENDED", about: current)
  }

  // MARK: The customer's choices

  /// Paid time stays until its end. In grace period or billing retry a cancellation ends access at
  /// once.
  private mutating func setAutoRenew(_ isOn: Bool) {
    guard let next = renewal, next.isOn != isOn else { return }
    renewal?.isOn = isOn
    if state == .grace || state == .retry {
      // Apple's documentation: "The system immediately cancels". No more attempts, no more access.
      renewal?.isRetrying = false
      state = .expired
    }
    announce(
      "DID_CHANGE_RENEWAL_STATUS", isOn ? "AUTO_RENEW_ENABLED" : "AUTO_RENEW_DISABLED",
      about: current)
  }

  /// An upgrade is a new purchase that begins now, and no notification tells of the old period's
  /// end. A downgrade only changes the product that renews.
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

  /// A downgrade is undone: the only DID_CHANGE_RENEWAL_PREF without a subtype.
  private mutating func keepProduct() {
    guard let product = current?.product else { return }
    renewal?.product = product
    announce("DID_CHANGE_RENEWAL_PREF", about: current)
  }

  /// While consent is pending (priceIncreaseStatus 0) the subscription does not renew.
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

  /// An offer redeemed on a running subscription applies from the next period. Until then only the
  /// renewal information carries it.
  private mutating func redeem(_ offer: Offer) {
    guard state == .active, renewal != nil else { return }
    renewal?.offer = offer
    announce("OFFER_REDEEMED", about: current)
  }

  /// Each purchase is its own original transaction, without status and renewal information.
  private mutating func buyOnce(_ product: Product, _ quantity: Int64) {
    let id = makeId()
    newest = Purchase(
      id: id, originalId: id, product: product, purchaseDate: now, originalPurchaseDate: now,
      quantity: quantity, price: storefront.price(product.price) * quantity, reason: .purchase)
    announce("ONE_TIME_CHARGE", about: newest)
  }

  // MARK: Refunds

  private mutating func announceNewest(_ type: String) { announce(type, about: newest) }

  /// A partial refund of a subscription ends access as well; the percentage is that of the money.
  private mutating func refund(_ percentage: Int64) {
    revoke(
      Purchase.Revocation(
        date: now / 1000 * 1000,
        type: percentage == RefundAnswer.whole ? "REFUND_FULL" : "REFUND_PRORATED",
        percentage: percentage, reason: refundReason.isIssue ? 1 : 0))
    announce("REFUND", about: newest)
  }

  /// Revokes the newest purchase, and with it the subscription if it is the current period's.
  private mutating func revoke(_ revocation: Purchase.Revocation) {
    newest?.revocation = revocation
    keepSeats()
    guard isLastPurchase else { return }
    if team == nil { current = newest }
    renewal?.isOn = false
    // Apple does not go on trying to charge for what it took back.
    renewal?.intent = nil
    renewal?.isRetrying = nil
    renewal?.graceEnd = nil
    state = .revoked
  }

  /// Removes the revocation from the transaction; its expiresDate is what it was before.
  private mutating func reverseRefund() {
    guard newest?.revocation != nil else { return }
    newest?.revocation = nil
    keepSeats()
    if newest?.id == current?.id || team != nil {
      if team == nil { current = newest }
      state = now < current?.expiresDate ?? now ? .active : .expired
    }
    announce("REFUND_REVERSED", about: newest)
  }

  // MARK: Beside subscriptions

  /// The subscription gets another original transaction id, under which it renews. The payloads
  /// have no advancedCommerceInfo.
  private mutating func migrate() {
    guard state == .active, var moved = current, renewal != nil else { return }
    let id = makeId()
    moved.previousOriginalId = moved.originalId
    (moved.id, moved.originalId, moved.webOrderLineItemId) = (id, id, makeId())
    (moved.purchaseDate, moved.originalPurchaseDate, moved.reason) = (now, now, .purchase)
    (current, newest) = (moved, moved)
    announce("MIGRATION", about: current)
  }

  /// Only the price of the next renewal changes.
  private mutating func changePrice(_ percent: Int64) {
    guard state == .active, renewal != nil else { return }
    nextPriceLevel = priceLevel * (100 + percent) / 100
    announce("PRICE_CHANGE", about: current)
  }

  private mutating func makeToken(_ type: String) {
    token = ExternalToken(id: generator.uuid(), type: type, created: now)
    announceToken("CREATED")
  }

  private mutating func announceToken(_ subtype: String) {
    guard let token else { return }
    announce(
      "EXTERNAL_PURCHASE_TOKEN", subtype,
      content: ("externalPurchaseToken", externalPurchaseToken(token)))
  }

  // MARK: Family Sharing and assigned seats

  // A member has its own transactions, app transaction id and notifications, and nothing in them
  // names the purchaser (Supporting Family Sharing in your app).

  /// Adds the one member, who joins within an hour. One member is enough to exercise every rule.
  private mutating func share(as membership: Ownership) {
    guard state == .active, let shared = current, ownership == .purchased, members.isEmpty
    else { return }
    let delay = generator.number(in: 60...3500) * 1000
    var member = Customer(
      app: app, seed: seed, number: number + 500_000, now: now + delay, ownership: membership,
      owner: storefront)
    member.join(shared, anchor, months)
    notifications += member.notifications
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
  private mutating func stopSharing() {
    guard ownership != .purchased else { return }
    revoke(
      Purchase.Revocation(
        date: now / 1000 * 1000,
        type: ownership == .assigned ? "ASSIGNMENT_REVOKE" : "FAMILY_REVOKE"))
    announce("REVOKE", about: current)
  }

  /// Performs a step of the subscription for each member, which adds the member's notifications.
  private mutating func follow(_ step: Step) {
    let followed: Step
    switch step {
    case .renew, .cancel, .changeMind, .expire, .upgrade, .downgrade,
      .crossgrade, .keepProduct, .failToRenew, .outlastGrace, .recover, .extend, .stopSharing:
      followed = step
    case .refund where isLastPurchase: followed = .stopSharing
    default: return
    }
    for index in members.indices where members[index].state != .revoked {
      let before = members[index].notifications.count
      members[index].now = max(members[index].now, now)
      members[index].perform(followed)
      notifications += members[index].notifications.dropFirst(before)
    }
  }

  // MARK: Numbers and dates

  private mutating func startCycle(at moment: Int64) {
    (anchor, months) = (CivilTime(milliseconds: moment), 0)
  }

  /// Makes a period, and makes it the current one. Months are counted from the anchor and not from
  /// the previous period, so that the 31st is used again after February. An offer with its own
  /// length moves the anchor to its end.
  private mutating func purchase(
    _ product: Product, at start: Int64, _ reason: Purchase.Reason, _ offer: Offer?
  ) {
    let id = makeId()
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
      id: id, originalId: current?.originalId ?? id, webOrderLineItemId: makeId(),
      product: product, purchaseDate: start,
      originalPurchaseDate: current?.originalPurchaseDate ?? start, expiresDate: end,
      price: ownership == .purchased ? price(of: product, offer, level: priceLevel) : nil,
      reason: reason,
      offer: offer)
    sellSeats()
    newest = current
  }

  /// The price in the customer's storefront, in milliunits of its currency.
  func price(of product: Product, _ offer: Offer?, level: Int64) -> Int64 {
    storefront.price(product.price * level / 100 * (offer?.percent ?? 100) / 100)
  }

  /// A new id. Ids increase with gaps, like Apple's, as if other customers bought in between.
  mutating func makeId() -> String {
    defer { nextId += generator.number(in: 1...4) }
    return String(nextId)
  }

  /// Adds a notification, signed 0.3 to 2.5 seconds after the event and after all earlier ones.
  mutating func announce(
    _ type: String, _ subtype: String? = nil, about purchase: Purchase? = nil
  ) {
    if type != "TEST" && purchase == nil { return }
    let signed = max(now + generator.number(in: 300...2500), lastSigned + 1000)
    lastSigned = signed
    // The nested parts are signed some milliseconds before the notification.
    let data = data(type, purchase, signed: signed - generator.number(in: 30...90))
    append(type, subtype, signed, ("data", data))
  }

  /// Adds a notification without a transaction, so that no row may follow from it.
  mutating func announce(
    _ type: String, _ subtype: String? = nil, content: (String, JSONValue)
  ) {
    lastSigned = max(now, lastSigned) + 60_000
    append(type, subtype, lastSigned, content)
  }

  private mutating func append(
    _ type: String, _ subtype: String?, _ signed: Int64, _ body: (String, JSONValue)
  ) {
    notifications.append(
      SimulatedNotification(type, subtype, uuid: generator.uuid(), signed: signed, body))
  }
}
