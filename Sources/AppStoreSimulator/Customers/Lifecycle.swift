import Platform

/// A named script of what happens to a customer, from which Apple's notifications follow.
public struct Lifecycle: Sendable {
  public let name: String
  /// One line for `subledger simulate list`.
  public let summary: String
  let steps: [Step]

  /// The lifecycle of that name; nil if there is none.
  public static func named(_ name: String) -> Lifecycle? { all.first { $0.name == name } }

  /// Apple's use cases (tables of the notificationType page), one script each.
  public static let all: [Lifecycle] = [
    Lifecycle(
      name: "buy-and-renew", summary: "a subscription that renews month after month",
      steps: [.buy(.proMonthly), .renew, .renew, .renew]),
    Lifecycle(
      name: "cancel", summary: "cancelled, re-enabled, cancelled again; runs out",
      steps: [
        .buy(.proMonthly), .renew, .wait(days: 9), .cancel, .wait(days: 2), .changeMind,
        .wait(days: 5), .cancel, .expire,
      ]),
    Lifecycle(
      name: "resubscribe", summary: "back after three months, on another product",
      steps: [
        .buy(.basicMonthly), .wait(days: 20), .cancel, .expire, .wait(days: 90),
        .resubscribe(.proMonthly), .renew,
      ]),
    Lifecycle(
      name: "upgrade", summary: "to a higher level, at once",
      steps: [.buy(.basicMonthly), .renew, .wait(days: 14), .upgrade(.proYearly)]),
    Lifecycle(
      name: "downgrade", summary: "to a lower level; reverted once, then kept to the renewal",
      steps: [
        .buy(.proMonthly), .wait(days: 4), .downgrade(.basicMonthly), .wait(days: 2),
        .keepProduct, .wait(days: 5), .downgrade(.basicMonthly), .renew, .renew,
      ]),
    Lifecycle(
      name: "crossgrade", summary: "same duration at once, another duration at the renewal",
      steps: [
        .buy(.basicMonthly), .wait(days: 7), .crossgrade(.studentMonthly), .wait(days: 12),
        .crossgrade(.basicYearly), .renew,
      ]),
    Lifecycle(
      name: "grace-recovered", summary: "card refused, 16 days of grace, paid within them",
      steps: [
        .buy(.proMonthly), .renew, .failToRenew(graceDays: 16), .wait(days: 4), .recover, .renew,
      ]),
    Lifecycle(
      name: "retry-recovered", summary: "grace runs out, paid on day 30: a new billing cycle",
      steps: [
        .buy(.proMonthly), .failToRenew(graceDays: 16), .outlastGrace, .wait(days: 14), .recover,
        .renew,
      ]),
    Lifecycle(
      name: "retry-expired", summary: "card refused, no grace, given up after 60 days",
      steps: [.buy(.proMonthly), .renew, .failToRenew(graceDays: nil), .expire]),
    Lifecycle(
      name: "refund", summary: "asked for in the app, granted in full",
      steps: [
        .buy(.proMonthly), .wait(days: 8), .cancel, .askForRefund(), .wait(days: 1),
        .refund(percentage: 100_000),
      ]),
    Lifecycle(
      name: "refund-reversed", summary: "declined, granted in part, and reversed in a dispute",
      steps: [
        .buy(.proYearly), .wait(days: 8), .askForRefund(), .wait(days: 1), .declineRefund,
        .wait(days: 10), .cancel, .askForRefund(), .wait(days: 1), .refund(percentage: 40_000),
        .wait(days: 12), .reverseRefund,
      ]),
    Lifecycle(
      name: "grace-refunded", summary: "card refused, and a refund in the grace period",
      steps: [
        .buy(.basicWeekly), .renew, .renew, .failToRenew(graceDays: 6), .wait(days: 4),
        .refund(percentage: 100_000),
      ]),
    Lifecycle(
      name: "family-revoke", summary: "shared with a family member, then no longer",
      steps: [.buy(.proMonthly), .share, .renew, .wait(days: 12), .stopSharing, .renew]),
    Lifecycle(
      name: "seat", summary: "a seat that is assigned to a member, then withdrawn",
      steps: [.buy(.proMonthly), .assign, .renew, .wait(days: 12), .stopSharing, .renew]),
    Lifecycle(
      name: "price-increase", summary: "consent given once, refused by silence the second time",
      steps: [
        .buy(.proMonthly), .wait(days: 5), .raisePrice(percent: 20, needsConsent: true),
        .wait(days: 3), .acceptPrice, .renew, .wait(days: 5),
        .raisePrice(percent: 50, needsConsent: true), .expire,
      ]),
    Lifecycle(
      name: "offer", summary: "free week, promotional offer, lapse, win-back",
      steps: [
        .buy(.proMonthly, .freeWeek), .renew, .wait(days: 10), .redeem(.halfMonth), .renew,
        .wait(days: 3), .cancel, .expire, .wait(days: 40), .resubscribe(.proMonthly, .comeBack),
      ]),
    Lifecycle(
      name: "team", summary: "five seats of a team, two added and refunded, a member withdrawn",
      steps: [
        .buySeats(.proMonthly, 5, .apple), .assign, .wait(days: 5), .addSeats(2), .wait(days: 3),
        .refund(percentage: 100_000), .renew, .wait(days: 2), .dropSeats(1), .renew,
      ]),
    Lifecycle(
      name: "team-claims",
      summary: "seats that the developer gives out, some refunded and unclaimed",
      steps: [
        .buySeats(.proMonthly, 4, .developer), .wait(days: 9), .addSeats(3), .wait(days: 4),
        .refundSeats(1), .unclaimSeats(1), .renew,
      ]),
    Lifecycle(
      name: "retention", summary: "an offer to stay, for the next month",
      steps: [.buy(.proMonthly), .renew, .wait(days: 10), .redeem(.stay), .renew]),
    Lifecycle(
      name: "extension", summary: "the developer gives ten days to everybody",
      steps: [.buy(.proMonthly), .wait(days: 19), .extend(days: 10), .extensionSummary, .renew]),
    Lifecycle(
      name: "one-time", summary: "a consumable refunded in part, a non-consumable, a season pass",
      steps: [
        .buyOnce(.coins, quantity: 3), .wait(days: 4), .askForRefund(), .wait(days: 1),
        .refund(percentage: 40_000), .wait(days: 10), .buyOnce(.lifetime, quantity: 1),
        .wait(days: 30), .buyOnce(.season, quantity: 1),
      ]),
    Lifecycle(
      name: "advanced-commerce", summary: "moved to the Advanced Commerce API, at a new price",
      steps: [
        .buy(.proMonthly), .wait(days: 10), .migrate, .wait(days: 2), .changeMetadata,
        .wait(days: 2), .changePrice(percent: 20), .renew,
      ]),
    Lifecycle(
      name: "consent", summary: "a parent withdraws the consent to use the app",
      steps: [.buyOnce(.lifetime, quantity: 1), .wait(days: 6), .rescindConsent]),
    Lifecycle(
      name: "external-purchase", summary: "tokens for purchases outside the App Store",
      steps: [
        .makeToken(type: "ACQUISITION"), .wait(days: 30), .remindOfToken, .wait(days: 1),
        .makeToken(type: "SERVICES"), .wait(days: 15), .missReport,
      ]),
    Lifecycle(
      name: "test", summary: "the TEST notification of App Store Connect",
      steps: [.test]),
  ]

  /// The notifications that Apple sends, oldest first, the last one not after `end`.
  ///
  /// - Parameters:
  ///   - end: milliseconds since 1970.
  ///   - seed: the same seed gives the same payloads.
  ///   - customer: the customer's number, from which its ids follow.
  public func notifications(
    app: SimulatedApp, seed: UInt64, endingAt end: Int64, customer: Int = 0
  ) -> [SimulatedNotification] {
    // Months differ in length, so the script is played to find out how long it takes, and its start
    // is then moved until the last notification is within a day before `end`. It may take longer
    // from another start: each later attempt leaves some hours more.
    var start = end - 400 * CivilTime.day
    for attempt in 0..<4 {
      let played = play(app: app, seed: seed, start: start, customer: customer)
      let over = (played.last?.signedDate ?? start) - end
      if over <= 0 && over > -CivilTime.day { return played }
      start -= over + Int64(attempt) * 3 * CivilTime.hour
    }
    return play(app: app, seed: seed, start: start - 3 * CivilTime.day, customer: customer)
  }

  private func play(
    app: SimulatedApp, seed: UInt64, start: Int64, customer: Int
  ) -> [SimulatedNotification] {
    var customer = Customer(app: app, seed: seed, number: customer, now: start)
    for step in steps { customer.perform(step) }
    return customer.notifications.sorted(by: SimulatedNotification.precedes)
  }
}
