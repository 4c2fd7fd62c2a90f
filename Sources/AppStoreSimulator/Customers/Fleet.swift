import Platform

/// Many customers over many days, in a plausible mix: trials, monthly and yearly products, churn,
/// upgrades, grace period and billing retry, refunds, families, one-time purchases. All that the
/// App Store sends, shows and hands to apps is about the customers of a fleet.
public struct Fleet: Sendable {
  /// Above this, the ids of family members and of customers would collide.
  public static let maximumCustomers = 400_000

  public var app: SimulatedApp
  public var customers: Int
  /// Each is played by one more customer.
  public var lifecycles: [Lifecycle] = []
  /// The number of the first customer, so that a large fleet can be made in several parts.
  public var first = 0
  /// All customers begin within this many days before `end`.
  var days: Int64
  /// No notification is signed after this time, milliseconds since 1970.
  var end: Int64
  /// The same seed gives the same notifications.
  public var seed: UInt64
  /// Of how many paid purchases the customer asks for the money back, 0 to 1; the App Store then
  /// decides by `answers`. Nil for few requests, whose outcomes are part of the lives.
  public var refunds: Double?
  /// What the App Store was told, by transaction id, in the order in which it came.
  var answers: [String: [RefundAnswer]] = [:]

  public init(app: SimulatedApp, customers: Int, days: Int64, end: Int64, seed: UInt64) {
    self.app = app
    self.customers = min(customers, Self.maximumCustomers)
    self.days = days
    self.end = end
    self.seed = seed
  }

  /// How many customers there are, those of lifecycles included.
  var count: Int { customers + lifecycles.count }

  /// All notifications in the order Apple signed them.
  public func notifications() -> [SimulatedNotification] {
    (0..<count).flatMap { notifications(of: $0) }.sorted(by: SimulatedNotification.precedes)
  }

  /// All notifications of one customer and its members until `end`, in the order Apple signed them.
  /// The customer's choices come from a generator of their own, so that a new field in a payload
  /// does not change them.
  func notifications(of index: Int) -> [SimulatedNotification] {
    let number = first + index
    guard index < customers else {
      return lifecycles[index - customers]
        .notifications(app: app, seed: seed, endingAt: end, customer: number)
    }
    var generator = SeededGenerator(seed: seed ^ 0x6C69_6665, stream: UInt64(number))
    let start = end - generator.number(in: 1...max(1, days * 1440)) * 60_000
    var customer = Customer(app: app, seed: seed, number: number, now: start)
    if generator.chance(0.12) {
      buyOnce(&customer, &generator)
    } else {
      subscribe(&customer, &generator)
    }
    return customer.notifications.filter { $0.signedDate <= end }
      .sorted(by: SimulatedNotification.precedes)
  }

  /// All requests for refunds until `end`, customer by customer.
  package func refundRequests() -> [RefundRequest] {
    (0..<count).flatMap { refundRequests(of: $0, at: end) }
  }

  /// The requests of one customer that are signed by a moment, milliseconds since 1970.
  func refundRequests(of index: Int, at moment: Int64) -> [RefundRequest] {
    let known = notifications(of: index).filter { $0.signedDate <= moment }
    return RefundRequest.all(in: known, answers: answers)
  }

  private func buyOnce(_ customer: inout Customer, _ generator: inout SeededGenerator) {
    repeat {
      let product = generator.pick(weighted: [
        (60, Product.coins), (25, Product.season), (15, Product.lifetime),
      ])
      let quantity = product == .coins ? generator.number(in: 1...5) : 1
      customer.perform(.buyOnce(product, quantity: quantity))
      if generator.chance(refunds ?? 0.08) { askForRefund(&customer, &generator) }
      customer.perform(.wait(days: generator.number(in: 5...90)))
    } while customer.now < end && generator.chance(0.6)
  }

  /// Mostly monthly products; a third of the customers has a trial, and a third of those cancels.
  /// The weights are guesses, and nothing depends on them.
  private func subscribe(_ customer: inout Customer, _ generator: inout SeededGenerator) {
    let product = generator.pick(weighted: [
      (30, Product.proMonthly), (30, Product.basicMonthly), (12, Product.proYearly),
      (12, Product.basicYearly), (10, Product.basicWeekly), (6, Product.studentMonthly),
    ])
    let offer = generator.pick(weighted: [
      (60, Offer?.none), (33, Offer.freeWeek), (7, Offer.spring),
    ])
    customer.perform(.buy(product, offer))
    if generator.chance(0.06) { customer.perform(.share) }
    if offer == .freeWeek && generator.chance(0.35) { leave(&customer, &generator) }
    while customer.now < end && customer.state != .revoked {
      period(&customer, &generator)
    }
  }

  /// One period of a subscription, to its end or into the next.
  private func period(_ customer: inout Customer, _ generator: inout SeededGenerator) {
    guard customer.state == .active else {
      // Some subscribe again; the others have no further notifications.
      customer.perform(.wait(days: generator.number(in: 10...150)))
      guard generator.chance(0.3), let product = customer.current?.product else {
        customer.now = end
        return
      }
      customer.perform(.resubscribe(product, generator.chance(0.3) ? .comeBack : nil))
      return
    }
    if let refunds, generator.chance(refunds), customer.newest?.price ?? 0 > 0 {
      return askForRefund(&customer, &generator)
    }
    switch generator.number(in: 0...999) {
    case 0..<835: customer.perform(.renew)
    case ..<890: leave(&customer, &generator)
    case ..<940: loseCard(&customer, &generator)
    case ..<965: move(&customer, &generator)
    case ..<980 where refunds == nil: askForRefund(&customer, &generator)
    case ..<988: raisePrice(&customer, &generator)
    case ..<993: customer.perform(.extend(days: generator.number(in: 3...30)))
    default:
      pause(&customer, &generator)
      customer.perform(.redeem(.halfMonth))
      customer.perform(.renew)
    }
  }

  /// Some days within the running period.
  private func pause(_ customer: inout Customer, _ generator: inout SeededGenerator) {
    let left = ((customer.current?.expiresDate ?? customer.now) - customer.now) / CivilTime.day
    customer.perform(.wait(days: generator.number(in: 0...max(0, left - 2))))
  }

  /// Cancels at some time in the period; one in seven turns auto-renewal on again.
  private func leave(_ customer: inout Customer, _ generator: inout SeededGenerator) {
    pause(&customer, &generator)
    customer.perform(.cancel)
    guard generator.chance(0.15) else { return customer.perform(.expire) }
    customer.perform(.changeMind)
    customer.perform(.renew)
  }

  /// A billing failure with every outcome: paid in the grace period, paid in billing retry, given
  /// up. Weekly products have a grace period of at most 6 days.
  private func loseCard(_ customer: inout Customer, _ generator: inout SeededGenerator) {
    let hasGrace = generator.chance(0.6)
    let isWeekly = customer.current?.product.period == .week
    customer.perform(.failToRenew(graceDays: hasGrace ? (isWeekly ? 6 : 16) : nil))
    if hasGrace && generator.chance(0.55) {
      customer.perform(.wait(days: generator.number(in: 1...(isWeekly ? 4 : 14))))
      return customer.perform(.recover)
    }
    if hasGrace { customer.perform(.outlastGrace) }
    guard generator.chance(0.4) else { return customer.perform(.expire) }
    customer.perform(.wait(days: generator.number(in: 1...40)))
    customer.perform(.recover)
  }

  /// Upgrades at once, or downgrades at the next renewal.
  private func move(_ customer: inout Customer, _ generator: inout SeededGenerator) {
    pause(&customer, &generator)
    switch customer.current?.product {
    case Product.basicMonthly?, Product.basicWeekly?, Product.studentMonthly?:
      customer.perform(.upgrade(generator.chance(0.5) ? .proMonthly : .proYearly))
    case Product.basicYearly?: customer.perform(.upgrade(.proYearly))
    default:
      customer.perform(.downgrade(.basicMonthly))
      if generator.chance(0.3) { customer.perform(.keepProduct) }
      customer.perform(.renew)
    }
  }

  /// A request is declined or granted, and a granted refund may be reversed after a dispute.
  private func askForRefund(_ customer: inout Customer, _ generator: inout SeededGenerator) {
    customer.perform(.wait(days: generator.number(in: 1...4)))
    if generator.chance(0.5) { customer.perform(.cancel) }
    let granted =
      refunds == nil ? plannedRefund(&customer, &generator) : decidedRefund(&customer, &generator)
    guard let granted else {
      customer.perform(.declineRefund)
      if asksAgain(customer, &generator) { return askForRefund(&customer, &generator) }
      return customer.perform(customer.renewal?.isOn == true ? .renew : .expire)
    }
    customer.perform(.refund(percentage: granted))
    guard generator.chance(0.15) else { return }
    customer.perform(.wait(days: generator.number(in: 3...20)))
    customer.perform(.reverseRefund)
    customer.perform(.expire)
  }

  /// How much is given back, in thousandths of a percent; nil if the refund is declined.
  private func plannedRefund(
    _ customer: inout Customer, _ generator: inout SeededGenerator
  ) -> Int64? {
    customer.perform(.askForRefund())
    customer.perform(.wait(days: generator.number(in: 1...2)))
    if generator.chance(0.25) { return nil }
    return generator.chance(0.8) ? RefundAnswer.whole : 40_000
  }

  /// The App Store waits twelve hours, takes up to three more, and decides by what it was told. It
  /// draws the same numbers whatever that was.
  private func decidedRefund(
    _ customer: inout Customer, _ generator: inout SeededGenerator
  ) -> Int64? {
    // An extension has moved the end of the current purchase.
    if customer.newest?.id == customer.current?.id { customer.newest = customer.current }
    customer.perform(.askForRefund(generator.pick(RefundRequest.Reason.allCases)))
    let asked = customer.lastSigned
    customer.now = asked + RefundRequest.answerTime + generator.number(in: 1...180) * 60_000
    let left = customer.newest?.share(leftAt: customer.now)
    let untold = generator.pick(weighted: [
      (60, RefundAnswer.whole), (15, left ?? RefundAnswer.whole / 2), (25, nil),
    ])
    let told = customer.newest.flatMap { answers[$0.id] } ?? []
    guard let index = RefundRequest.counting(told, askedAt: asked) else { return untold }
    return told[index].decision(left: left)
  }

  /// After a declined request one customer in five asks again, if there is time in the period.
  private func asksAgain(_ customer: Customer, _ generator: inout SeededGenerator) -> Bool {
    guard refunds != nil, generator.chance(0.2), let purchase = customer.newest else {
      return false
    }
    return purchase.expiresDate.map { customer.now + 6 * CivilTime.day < $0 } ?? true
  }

  /// Some increases need consent; without an answer the subscription then expires.
  private func raisePrice(_ customer: inout Customer, _ generator: inout SeededGenerator) {
    pause(&customer, &generator)
    let needsConsent = generator.chance(0.5)
    customer.perform(.raisePrice(percent: 20, needsConsent: needsConsent))
    if needsConsent && generator.chance(0.6) { customer.perform(.acceptPrice) }
    let isRefused = customer.renewal?.consent == 0
    customer.perform(isRefused ? .expire : .renew)
  }
}
