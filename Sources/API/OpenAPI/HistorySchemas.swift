import AppStore

/// The timeline of one customer, and quarantined notifications.
extension Schemas {
  static let history = Schema.object(
    [
      object("list"),
      (
        "items",
        .list(
          .either([
            .named("HistoryEvent"), .named("HistoryTransition"), .named("HistoryQuarantined"),
          ]))
      ),
      ("next_page", .optional(.text("The value of `after` for the next page; null at the end."))),
      (
        "more_quarantined",
        .boolean("Whether quarantine holds more notifications about this customer than are shown.")
      ),
    ], optional: [confirmedAt])

  private static let payload = Schema.anything(
    "With raw=true, the decoded payload of the notification; null if it cannot be recovered.")

  static let event = Schema.object(
    [
      object("event"), ("seq", .integer("Its position in the journal.")),
      ("notification_uuid", .text("The UUID by which duplicates are recognized.")),
      ("source", .text("v2 or v1; transaction, renewal or receipt for evidence.")),
      ("notification_type", .text("The type, as Apple wrote it.")),
      ("subtype", .optional(.text(""))), ("words", .text("What happened, in plain words.")),
      ("transaction_id", .optional(.text("The transaction that it is about."))),
      ("signed_date", .time("When Apple signed it.")),
      ("received_at", .time("When it was received.")),
      (
        "arrival",
        .optional(
          .text(
            "How it arrived: posted, or from Apple's history; also import, asked or submitted."))
      ),
      ("late", .boolean("Whether an event that Apple signed later was received before it.")),
      ("late_by", .optional(.integer("Milliseconds between the two signed dates."))),
      ("redeliveries", .optional(redeliveries)), ("money", .optional(money)),
      changes,
    ],
    optional: [
      (
        "unread_transaction",
        .boolean("Present and true where its transaction cannot be read and was not folded.")
      ),
      (
        "rules",
        .list(.text("What the rules made of its transaction, in plain words; told once for each."))
      ),
      ("receipt", receiptInside), ("payload", payload),
    ])

  private static let changes: (String, Schema) = (
    "changes",
    .map(
      .object([("before", .anything("")), ("after", .anything(""))]),
      "The members of the row that it changed, with their values before and after.")
  )

  static let transition = Schema.object([
    object("transition"),
    ("at", .time("When status, access or product changed by the passing of time alone.")),
    ("words", .text("What happened, in plain words.")), changes,
  ])

  private static let receiptInside = Schema.object([
    ("proven", .boolean("Whether Apple signed the receipt in a version 1 notification.")),
    ("reason", .optional(.text("Why it is not proven."))),
    (
      "transactions",
      .list(
        .object([
          ("transaction_id", .text("")),
          (
            "receipt",
            .oneOf(
              ["proven", "differs", "absent"],
              "What the receipt says of it: the same, another "
                + "product or other dates, or nothing.")
          ),
        ]))
    ),
  ])

  private static let redeliveries = Schema.object([
    ("count", .integer("How often it was received again.")), ("first_at", .time("")),
    ("last_at", .time("")),
  ])

  private static let money = Schema.object([
    ("price", .optional(.integer("The price in thousandths of the currency's unit."))),
    ("currency", .optional(.text("The currency code of ISO 4217."))),
    ("quantity", .optional(.integer(""))), ("offer_type", .optional(offerType)),
    ("offer_identifier", .optional(.text(""))),
    ("offer_discount_type", .optional(offerDiscountType)),
    ("offer_period", .optional(.text(""))), ("revocation_date", .optional(.time(""))),
    ("revocation_reason", .optional(.integer(""))),
    (
      "revocation_type",
      .optional(.text("Apple's revocationType: \(ValueDescriptions.revocationType.list)."))
    ),
    (
      "revocation_percentage",
      .optional(.integer("The refunded share in thousandths of a percent."))
    ),
  ])

  static let historyQuarantined = quarantined

  private static let quarantineMembers: [(String, Schema)] = [
    object("quarantined"), ("id", .integer("The id for `subledger quarantine admit`.")),
    ("reason", .text("Why it was not admitted.")),
    ("notification_uuid", .optional(.text(""))), ("source", .text("v2, v1 or receipt.")),
    ("environment", .optional(.text("The environment that it claims."))),
    ("bundle_id", .optional(.text("The bundle id that it claims."))),
    ("notification_type", .optional(.text(""))), ("signed_date", .optional(.time(""))),
    ("received_at", .time("When it was received.")),
  ]

  static let quarantined = Schema.object(
    quarantineMembers, optional: [("payload", payload)])
}
