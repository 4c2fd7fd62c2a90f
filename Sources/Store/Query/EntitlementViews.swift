import AppStore

/// The views of the live projection, the file that the link `entitlements.sqlite` leads to.
extension SQLView {
  static let entitlement = SQLView(
    name: "entitlement_v1",
    meaning: "One row for each customer's purchase (original transaction id), as of now.",
    columns: key + purchase + dates + renewal + identifiers + money + commitment + events,
    schema: projectionSchema)

  static let entitlementSpan = SQLView(
    name: "entitlement_span_v1",
    meaning: "One row for each span of time in which the answer for a purchase is the same.",
    columns: key + [
      Column("from_ms", .integer, "The start of the span; null if it has none."),
      Column("to_ms", .integer, "The end of the span, which it excludes; null if it has none."),
      status, givesAccess, transactionId, productId,
      Column("expires_at_ms", .integer, "The end of what is paid, as known in the span."), gap,
    ], schema: projectionSchema)

  private static let key = [
    Column("environment", .text, "Production or Sandbox."),
    Column("bundle_id", .text, "The bundle id of the app."),
    Column(
      "original_transaction_id", .text,
      "The id that stays the same over all renewals of the purchase."),
  ]

  private static let transactionId = Column(
    "transaction_id", .text, "The transaction that covers the time, else the newest one.")
  private static let productId = Column(
    "product_id", .text, "The product that the customer has or had.")
  private static let status = Column(
    "status", .text, "One of active, grace_period, billing_retry, expired and revoked.")
  private static let givesAccess = Column(
    "gives_access", .integer, "1 if the customer may use the product, else 0.")
  private static let gap = Column(
    "gap", .integer, "1 if Apple says it runs longer than the periods it reported, else 0.")

  private static let purchase = [
    transactionId, productId,
    Column("product_type", .text, "The type of the product, as Apple names it."),
    Column(
      "ownership", .text, "Apple's inAppOwnershipType: \(ValueDescriptions.ownership.list)."),
    status, givesAccess,
  ]

  private static let dates = [
    Column("starts_at_ms", .integer, "When the transaction was bought or renewed."),
    Column(
      "expires_at_ms", .integer, "The end of what is paid; null for a product that never expires."),
    Column(
      "grace_period_expires_at_ms", .integer,
      "The end of the last grace period that Apple reported; null if there was none."),
    Column(
      "revoked_at_ms", .integer,
      "When a refund, or the end of family sharing or of an assigned seat, revoked it; null if it "
        + "was not revoked."),
  ]

  private static let renewal = [
    Column(
      "auto_renew", .integer, "1 if it will renew, 0 if the customer switched that off, or null."),
    Column(
      "pending_product_id", .text,
      "The product that the next renewal changes to; null if it does not change."), gap,
  ]

  private static let identifiers = [
    Column("app_account_token", .text, "The appAccountToken that the app set at the purchase."),
    Column("app_transaction_id", .text, "The id of the app download."),
    Column("subscription_group_id", .text, "The subscription group of the product."),
  ]

  private static let money = [
    Column("offer_type", .integer, "Apple's offerType: \(ValueDescriptions.offerType.list)."),
    Column("offer_identifier", .text, "Apple's identifier of the offer."),
    Column(
      "offer_discount_type", .text,
      "Apple's offerDiscountType: \(ValueDescriptions.offerDiscountType.list)."),
    Column("offer_period", .text, "The length of the offer in ISO 8601, such as P1M."),
    Column(
      "price_milliunits", .integer, "The price in thousandths of the currency: 9990 is 9.99."),
    Column("currency", .text, "The currency code of ISO 4217."),
    Column(
      "price_increase", .text,
      "pending or accepted if Apple asked for consent to a higher price, else null."),
  ]

  private static let commitment = [
    Column("commitment_period", .integer, "The number of the billing period in the commitment."),
    Column("commitment_periods", .integer, "How many billing periods the commitment has."),
    Column("commitment_ends_at_ms", .integer, "When the commitment ends."),
    Column(
      "commitment_auto_renew", .integer, "1 if another commitment follows, 0 if not, or null."),
    Column(
      "succeeded_by", .text, "The original transaction id that replaced this one, or null."),
  ]

  private static let events = [
    Column("event_count", .integer, "How many events of the journal the row was folded from."),
    Column("last_event_seq", .integer, "The seq in journal_v1 of the event signed last."),
    Column("last_notification_uuid", .text, "The notification_uuid of that event."),
    Column("last_notification_type", .text, "The type of that event."),
    Column("last_subtype", .text, "The subtype of that event; null if it has none."),
    Column("last_signed_date_ms", .integer, "When Apple signed that event."),
    Column(
      "anomaly", .integer,
      "1 if a transaction has a date, price or quantity that no purchase has, else 0."),
  ]
}
