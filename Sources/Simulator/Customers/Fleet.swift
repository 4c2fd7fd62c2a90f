import Encoding

/// Many customers over many days, in a believable mix: trials, monthly and yearly products, churn,
/// upgrades, grace and retry, refunds, families, one-time purchases.
public struct Fleet: Sendable {
  /// 400,000 at most: above that, ids of family members and customers would meet.
  public static let maximumCustomers = 400_000

  public var app: SimulatedApp
  public var customers: Int
  /// The number of the first one: a large fleet is made in pieces, each with its own numbers.
  public var first = 0
  /// The first customer comes this many days before `end`.
  public var days: Int64
  /// Nothing is signed after it; milliseconds since 1970.
  public var end: Int64
  public var seed: UInt64

  public init(app: SimulatedApp, customers: Int, days: Int64, end: Int64, seed: UInt64) {
    self.app = app
    self.customers = min(customers, Self.maximumCustomers)
    self.days = days
    self.end = end
    self.seed = seed
  }

  /// All notifications in the order Apple signed them.
  public func notifications() -> [SimulatedNotification] {
    (first..<first + customers).flatMap { life(of: $0) }.sorted(by: SimulatedNotification.precedes)
  }

  /// The whole life of one customer, cut off at `end`: later notifications are not signed yet. The
  /// choices come from a generator of their own, so a new field in a payload changes no life.
  private func life(of number: Int) -> [SimulatedNotification] {
    var luck = SeededGenerator(seed: seed ^ 0x6C69_6665, stream: UInt64(number))
    let start = end - luck.number(in: 1...max(1, days * 1440)) * 60_000
    var customer = Customer(app: app, seed: seed, number: number, now: start)
    if luck.chance(0.12) {
      buyOnce(&customer, &luck)
    } else {
      subscribe(&customer, &luck)
    }
    return customer.notifications.filter { $0.signedDate <= end }
  }

  private func buyOnce(_ customer: inout Customer, _ luck: inout SeededGenerator) {
    repeat {
      let product = luck.pick(weighted: [
        (60, Product.coins), (25, Product.season), (15, Product.lifetime),
      ])
      let quantity = product == .coins ? luck.number(in: 1...5) : 1
      customer.perform(.buyOnce(product, quantity: quantity))
      if luck.chance(0.08) { askForMoneyBack(&customer, &luck) }
      customer.perform(.wait(days: luck.number(in: 5...90)))
    } while customer.now < end && luck.chance(0.6)
  }

  /// Mostly monthly, a third with a trial, of which a third leaves. The weights are guesses;
  /// nothing depends on them.
  private func subscribe(_ customer: inout Customer, _ luck: inout SeededGenerator) {
    let product = luck.pick(weighted: [
      (30, Product.proMonthly), (30, Product.basicMonthly), (12, Product.proYearly),
      (12, Product.basicYearly), (10, Product.basicWeekly), (6, Product.studentMonthly),
    ])
    let offer = luck.pick(weighted: [(60, Offer?.none), (33, Offer.freeWeek), (7, Offer.spring)])
    customer.perform(.buy(product, offer))
    if luck.chance(0.06) { customer.perform(.share) }
    if offer == .freeWeek && luck.chance(0.35) { leave(&customer, &luck) }
    while customer.now < end && customer.state != .revoked {
      period(&customer, &luck)
    }
  }

  /// One period of a subscription, to its end or into the next.
  private func period(_ customer: inout Customer, _ luck: inout SeededGenerator) {
    guard customer.state == .active else {
      // Some come back; for the others the story is over.
      customer.perform(.wait(days: luck.number(in: 10...150)))
      guard luck.chance(0.3), let product = customer.current?.product else {
        customer.now = end
        return
      }
      customer.perform(.resubscribe(product, luck.chance(0.3) ? .comeBack : nil))
      return
    }
    switch luck.number(in: 0...999) {
    case 0..<835: customer.perform(.renew)
    case ..<890: leave(&customer, &luck)
    case ..<940: loseCard(&customer, &luck)
    case ..<965: move(&customer, &luck)
    case ..<980: askForMoneyBack(&customer, &luck)
    case ..<988: raisePrice(&customer, &luck)
    case ..<993: customer.perform(.extend(days: luck.number(in: 3...30)))
    default:
      pause(&customer, &luck)
      customer.perform(.redeem(.halfMonth))
      customer.perform(.renew)
    }
  }

  /// Some days within the running period.
  private func pause(_ customer: inout Customer, _ luck: inout SeededGenerator) {
    let left = ((customer.current?.expiresDate ?? customer.now) - customer.now) / CivilTime.day
    customer.perform(.wait(days: luck.number(in: 0...max(0, left - 2))))
  }

  /// Cancels somewhere in the period; one in seven thinks better of it.
  private func leave(_ customer: inout Customer, _ luck: inout SeededGenerator) {
    pause(&customer, &luck)
    customer.perform(.cancel)
    guard luck.chance(0.15) else { return customer.perform(.expire) }
    customer.perform(.changeMind)
    customer.perform(.renew)
  }

  /// Every way out of a billing failure: paid in grace, paid in retry, given up. Weekly products
  /// have a grace period of at most 6 days.
  private func loseCard(_ customer: inout Customer, _ luck: inout SeededGenerator) {
    let hasGrace = luck.chance(0.6)
    let isWeekly = customer.current?.product.period == .week
    customer.perform(.failToRenew(graceDays: hasGrace ? (isWeekly ? 6 : 16) : nil))
    if hasGrace && luck.chance(0.55) {
      customer.perform(.wait(days: luck.number(in: 1...(isWeekly ? 4 : 14))))
      return customer.perform(.recover)
    }
    if hasGrace { customer.perform(.outlastGrace) }
    guard luck.chance(0.4) else { return customer.perform(.expire) }
    customer.perform(.wait(days: luck.number(in: 1...40)))
    customer.perform(.recover)
  }

  /// Up at once, down at the next renewal.
  private func move(_ customer: inout Customer, _ luck: inout SeededGenerator) {
    pause(&customer, &luck)
    switch customer.current?.product {
    case Product.basicMonthly?, Product.basicWeekly?, Product.studentMonthly?:
      customer.perform(.upgrade(luck.chance(0.5) ? .proMonthly : .proYearly))
    case Product.basicYearly?: customer.perform(.upgrade(.proYearly))
    default:
      customer.perform(.downgrade(.basicMonthly))
      if luck.chance(0.3) { customer.perform(.keepProduct) }
      customer.perform(.renew)
    }
  }

  /// A request is declined or granted, and a granted one may be taken back after a dispute.
  private func askForMoneyBack(_ customer: inout Customer, _ luck: inout SeededGenerator) {
    customer.perform(.wait(days: luck.number(in: 1...4)))
    if luck.chance(0.5) { customer.perform(.cancel) }
    customer.perform(.askForRefund)
    customer.perform(.wait(days: luck.number(in: 1...2)))
    if luck.chance(0.25) {
      customer.perform(.declineRefund)
      return customer.perform(customer.renewal?.isOn == true ? .renew : .expire)
    }
    customer.perform(.refund(percent: luck.chance(0.8) ? 100 : 40))
    guard luck.chance(0.15) else { return }
    customer.perform(.wait(days: luck.number(in: 3...20)))
    customer.perform(.reverseRefund)
    customer.perform(.expire)
  }

  /// Some increases need consent, and silence then is a no.
  private func raisePrice(_ customer: inout Customer, _ luck: inout SeededGenerator) {
    pause(&customer, &luck)
    let needsConsent = luck.chance(0.5)
    customer.perform(.raisePrice(percent: 20, needsConsent: needsConsent))
    if needsConsent && luck.chance(0.6) { customer.perform(.acceptPrice) }
    let isRefused = customer.renewal?.consent == 0
    customer.perform(isRefused ? .expire : .renew)
  }
}
