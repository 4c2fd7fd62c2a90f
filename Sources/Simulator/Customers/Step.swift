/// One thing that happens to a customer: a script is a list of them, top to bottom in time.
///
/// Most steps are one notification of Apple's; the clock moves by itself to when it would be sent.
public enum Step: Sendable, Equatable {
  /// Nothing happens for so many days.
  case wait(days: Int64)

  /// First purchase in the group: SUBSCRIBED / INITIAL_BUY.
  case buy(Product, Offer? = nil)
  /// After the end: SUBSCRIBED / RESUBSCRIBE.
  case resubscribe(Product, Offer? = nil)
  /// Up to a day before the end of the period: DID_RENEW.
  case renew
  /// DID_CHANGE_RENEWAL_STATUS / AUTO_RENEW_DISABLED, and ENABLED.
  case cancel
  case changeMind
  /// The period ends for good: EXPIRED, its subtype by what came before.
  case expire
  /// The developer took the product off sale: EXPIRED / PRODUCT_NOT_FOR_SALE.
  case expireWithdrawn

  /// At once, as a new purchase: DID_CHANGE_RENEWAL_PREF / UPGRADE.
  case upgrade(Product)
  /// From the next period on: DID_CHANGE_RENEWAL_PREF / DOWNGRADE.
  case downgrade(Product)
  /// Same level: at once where the duration is the same, else from the next period on.
  case crossgrade(Product)
  /// Back to the current product: DID_CHANGE_RENEWAL_PREF without subtype.
  case keepProduct

  /// The card is refused: DID_FAIL_TO_RENEW, with subtype GRACE_PERIOD where grace is given.
  case failToRenew(graceDays: Int64?)
  /// GRACE_PERIOD_EXPIRED.
  case outlastGrace
  /// The card works again: DID_RENEW / BILLING_RECOVERY.
  case recover

  /// CONSUMPTION_REQUEST: the customer asked for money back.
  case askForRefund
  /// REFUND of the newest purchase; percent 100 is all of it.
  case refund(percent: Int64)
  case declineRefund
  case reverseRefund

  /// A family member gets the subscription too, as a customer with ids of their own.
  case share
  /// REVOKE of the member.
  case stopSharing

  /// PRICE_INCREASE / PENDING where consent is needed, else ACCEPTED.
  case raisePrice(percent: Int64, needsConsent: Bool)
  case acceptPrice

  /// RENEWAL_EXTENDED, and RENEWAL_EXTENSION / SUMMARY for all of an extension to many.
  case extend(days: Int64)
  case extensionSummary

  /// An offer on a running subscription, for its next period: OFFER_REDEEMED.
  case redeem(Offer)

  /// ONE_TIME_CHARGE.
  case buyOnce(Product, quantity: Int64)

  /// TEST.
  case test
}
