/// Something that happens to a customer. A script is a list of steps in ascending order of time.
///
/// Most steps cause one notification of Apple's, and move the customer's time to when it is sent.
enum Step: Sendable, Equatable {
  /// Nothing happens for some days.
  case wait(days: Int64)

  /// First purchase in the group: SUBSCRIBED / INITIAL_BUY.
  case buy(Product, Offer? = nil)
  /// After the end: SUBSCRIBED / RESUBSCRIBE.
  case resubscribe(Product, Offer? = nil)
  /// Up to a day before the end of the period: DID_RENEW.
  case renew
  /// DID_CHANGE_RENEWAL_STATUS / AUTO_RENEW_DISABLED.
  case cancel
  /// DID_CHANGE_RENEWAL_STATUS / AUTO_RENEW_ENABLED.
  case changeMind
  /// The period ends and does not renew: EXPIRED, with a subtype that follows from earlier steps.
  case expire

  /// Effective at once, as a new purchase: DID_CHANGE_RENEWAL_PREF / UPGRADE.
  case upgrade(Product)
  /// Effective from the next period: DID_CHANGE_RENEWAL_PREF / DOWNGRADE.
  case downgrade(Product)
  /// To a product of the same level: at once if the duration is the same, else from the next
  /// period.
  case crossgrade(Product)
  /// Back to the current product: DID_CHANGE_RENEWAL_PREF without subtype.
  case keepProduct

  /// The charge fails: DID_FAIL_TO_RENEW, with the subtype GRACE_PERIOD if there is a grace period.
  case failToRenew(graceDays: Int64?)
  /// The grace period ends without a payment: GRACE_PERIOD_EXPIRED.
  case outlastGrace
  /// A retried charge succeeds: DID_RENEW / BILLING_RECOVERY.
  case recover

  /// The customer asks for a refund of the newest purchase: CONSUMPTION_REQUEST.
  case askForRefund(RefundRequest.Reason = .unintended)
  /// The newest purchase is refunded, by thousandths of a percent: REFUND.
  case refund(percentage: Int64)
  /// REFUND_DECLINED.
  case declineRefund
  /// REFUND_REVERSED.
  case reverseRefund

  /// A family member gets the subscription too, as a customer with its own ids.
  case share
  /// A member gets a seat of the subscription, as a customer with its own ids.
  case assign
  /// The member loses the subscription or the seat: REVOKE.
  case stopSharing

  /// First purchase of some seats for a team: SUBSCRIBED / INITIAL_BUY.
  case buySeats(Product, Int64, Team.Mode)
  /// Seats added in the period: DID_CHANGE_RENEWAL_PREF / INCREASE_QUANTITY.
  case addSeats(Int64)
  /// Fewer seats from the next renewal: DID_CHANGE_RENEWAL_PREF / DECREASE_QUANTITY.
  case dropSeats(Int64)
  /// Some seats of the newest purchase are refunded: REFUND / SEATS.
  case refundSeats(Int64)
  /// The developer is to withdraw some seats from members: UNCLAIM_SEATS.
  case unclaimSeats(Int64)

  /// PRICE_INCREASE / PENDING if consent is needed, else ACCEPTED.
  case raisePrice(percent: Int64, needsConsent: Bool)
  /// The customer consents: PRICE_INCREASE / ACCEPTED.
  case acceptPrice

  /// RENEWAL_EXTENDED.
  case extend(days: Int64)
  /// The summary of an extension to all subscribers: RENEWAL_EXTENSION / SUMMARY.
  case extensionSummary

  /// An offer on a running subscription, which applies to its next period: OFFER_REDEEMED.
  case redeem(Offer)

  /// ONE_TIME_CHARGE.
  case buyOnce(Product, quantity: Int64)

  /// The subscription moves to the Advanced Commerce API, under another id: MIGRATION.
  case migrate
  /// The description of the product changes: METADATA_UPDATE.
  case changeMetadata
  /// The price of the next renewal changes: PRICE_CHANGE.
  case changePrice(percent: Int64)

  /// A parent withdraws the consent to use the app: RESCIND_CONSENT.
  case rescindConsent

  /// A token of Apple's tokenType for purchases outside the App Store:
  /// EXTERNAL_PURCHASE_TOKEN / CREATED.
  case makeToken(type: String)
  /// The token still runs: EXTERNAL_PURCHASE_TOKEN / ACTIVE_TOKEN_REMINDER.
  case remindOfToken
  /// The developer has not reported the token: EXTERNAL_PURCHASE_TOKEN / UNREPORTED.
  case missReport

  /// TEST.
  case test
}
