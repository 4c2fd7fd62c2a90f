import AppStore

/// The row of one customer, as every route returns it.
extension Schemas {
  static let entitlement = Schema.object(
    [
      object("entitlement"), ("environment", environment), ("bundle_id", bundleId),
      ("original_transaction_id", .text("The original transaction id of the customer.")),
      (
        "transaction_id",
        .optional(.text("The transaction of the period that covers the time, else the newest one."))
      ),
      ("product_id", .optional(.text("The product that the customer has or had."))),
      ("product_type", .optional(.text("The type of the product, as Apple names it."))),
      (
        "ownership",
        .optional(.text("Apple's inAppOwnershipType: \(ValueDescriptions.ownership.list)."))
      ), ("status", status),
      ("gives_access", .boolean("Whether the customer may use the product at `as_of`.")),
      ("starts_at", .optional(.time("The start of that period."))),
      ("expires_at", .optional(.time("The end of what is paid for, which it excludes."))),
      (
        "grace_period_expires_at",
        .optional(
          .time("The end of the last grace period that Apple reported; null where it gave none."))
      ),
      (
        "revoked_at",
        .optional(
          .time("When a refund, or the end of family sharing or of an assigned seat, revoked it."))
      ),
      ("auto_renew", .optional(.boolean("Whether it will renew."))),
      (
        "pending_product_id",
        .optional(.text("The product that it renews to, if that is another product."))
      ),
      (
        "gap", .boolean("Whether Apple says it runs longer than the paid periods that it reported.")
      ),
      (
        "app_account_token",
        .optional(.text("The appAccountToken that your app set at the purchase."))
      ),
      ("app_transaction_id", .optional(.text("The id of the app download."))),
      ("subscription_group_id", .optional(.text(""))), ("offer", .optional(offer)),
      ("price", .optional(price)),
      (
        "price_increase",
        .optional(
          .oneOf(["pending", "accepted"], "Whether the customer agreed to a higher price."))
      ), ("commitment", .optional(commitment)),
      ("succeeded_by", .optional(.text("The id that replaced this one (MIGRATION)."))),
      ("as_of", .time("The time that this answer is for.")),
      (
        "known_at",
        .optional(
          .time(
            "Only what had been received by then is used; null if everything is. It rests on the "
              + "journal's receive times: this machine's clock, except that they never decrease. "
              + "After a clock that was ahead, events keep the time of the last one before them."))
      ),
      ("event_count", .integer("The number of events of this customer.")),
      ("last_event", .optional(lastEvent)),
    ],
    optional: [
      (
        "period_ends_at",
        .optional(
          .time(
            "The end of the current billing period, where `expires_at` is the end of all that is "
              + "paid for; null if the product does not expire."))
      ), confirmedAt,
      (
        "accounts",
        .list(
          .text(
            "An account of yours that has the purchase, the first 20 to claim it. Absent if none "
              + "has."))
      ),
      (
        "account_count",
        .integer("How many accounts have it. Absent if none has.")
      ),
      (
        "shared_by_accounts",
        .boolean("More than one account has it. True or absent.")
      ),
      (
        "anomaly",
        .boolean(
          "A transaction has a date, price or quantity that no purchase has. True or absent.")
      ),
    ])

  /// Of the row and of the timeline.
  static let confirmedAt = (
    "confirmed_at",
    Schema.time("When Apple, asked for it, last said the same. Absent if it was not asked.")
  )

  static let offerType = Schema.integer("Apple's offerType: \(ValueDescriptions.offerType.list).")
  static let offerDiscountType = Schema.text(
    "Apple's offerDiscountType: \(ValueDescriptions.offerDiscountType.list).")

  private static let offer = Schema.object([
    ("type", offerType), ("identifier", .optional(.text(""))),
    ("discount_type", .optional(offerDiscountType)),
    ("period", .optional(.text("The duration in ISO 8601, as Apple writes it."))),
  ])

  private static let price = Schema.object([
    ("milliunits", .integer("The price in thousandths of the currency's unit.")),
    ("currency", .optional(.text("The currency code of ISO 4217."))),
  ])

  private static let commitment = Schema.object([
    ("period", .optional(.integer("The number of the current billing period."))),
    ("periods", .optional(.integer("The number of billing periods in the commitment."))),
    ("ends_at", .optional(.time(""))),
    ("auto_renew", .optional(.boolean("Whether another commitment follows."))),
  ])

  private static let lastEvent = Schema.object([
    ("seq", .integer("Its position in the journal.")),
    ("notification_uuid", .text("Apple's notificationUUID.")),
    ("notification_type", .text("The type, as Apple wrote it.")),
    ("subtype", .optional(.text(""))), ("signed_date", .time("When Apple signed it.")),
  ])
}
