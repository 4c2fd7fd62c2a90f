import LedgerQueries

/// The named shapes of answers. A test holds every answer of the routes to them, member by member.
enum Schemas {
  /// In the order of the document.
  static let named: [(String, Schema)] = [
    ("Entitlement", entitlement), ("EntitlementList", list(of: .named("Entitlement"))),
    ("History", history), ("HistoryEvent", event), ("HistoryQuarantined", historyQuarantined),
    ("Overview", overview), ("Quarantined", quarantined),
    ("QuarantineList", list(of: .named("Quarantined"))), ("Comparison", comparison),
    ("ComparisonGroup", comparisonGroup), ("Difference", difference), ("Version", version),
    ("Taken", taken), ("State", state), ("NotificationV2", notificationV2),
    ("NotificationV1", notificationV1), ("Problem", problem),
  ]

  private static let environment = Schema.oneOf(Parameter.environments, "Apple's environment.")
  private static let bundleId = Schema.text("The app.")
  private static let status = Schema.oneOf(
    Parameter.statuses, "How the customer stands at that time.")

  private static func object(_ name: String) -> (String, Schema) {
    ("object", .oneOf([name], "What this is."))
  }

  private static func list(of item: Schema) -> Schema {
    .object([
      object("list"), ("items", .list(item)),
      ("next_page", .optional(.text("For `after`; null at the end."))),
    ])
  }

  // MARK: Rows

  private static let entitlement = Schema.object([
    object("entitlement"), ("environment", environment), ("bundle_id", bundleId),
    ("original_transaction_id", .text("Who it is about.")),
    ("transaction_id", .optional(.text("Of the period that covers the time, else the newest."))),
    ("product_id", .optional(.text("What the customer has, or had."))),
    ("product_type", .optional(.text("As Apple names it."))),
    ("ownership", .optional(.text("PURCHASED or FAMILY_SHARED."))), ("status", status),
    ("gives_access", .boolean("Whether the customer may use it at `as_of`.")),
    ("starts_at", .optional(.time("Of that period."))),
    ("expires_at", .optional(.time("Of that period; access ends before."))),
    ("grace_period_expires_at", .optional(.time("Of the last grace period Apple told of."))),
    ("revoked_at", .optional(.time("When a refund or the family took it back."))),
    ("auto_renew", .optional(.boolean("Whether it will renew."))),
    ("pending_product_id", .optional(.text("What it renews to, where that is another product."))),
    ("gap", .boolean("A paid period was never told of: Apple says it runs longer.")),
    ("app_account_token", .optional(.text("Yours, as given at the purchase."))),
    ("app_transaction_id", .optional(.text("Of the app download."))),
    ("subscription_group_id", .optional(.text(""))), ("offer", .optional(offer)),
    ("price", .optional(price)),
    (
      "price_increase",
      .optional(.oneOf(["pending", "accepted"], "Whether the customer agreed to a higher price."))
    ), ("commitment", .optional(commitment)),
    ("succeeded_by", .optional(.text("The id that replaced this one (MIGRATION)."))),
    ("as_of", .time("When this is the answer.")),
    ("known_at", .optional(.time("By what had arrived by then; null: by all."))),
    ("event_count", .integer("Events of this customer.")), ("last_event", .optional(lastEvent)),
  ])

  private static let offer = Schema.object([
    ("type", .integer("Apple's offerType.")), ("identifier", .optional(.text(""))),
    ("discount_type", .optional(.text("Apple's offerDiscountType."))),
    ("period", .optional(.text("ISO 8601, as Apple says it."))),
  ])
  private static let price = Schema.object([
    ("milliunits", .integer("Thousandths of the currency's unit.")),
    ("currency", .optional(.text("ISO 4217."))),
  ])
  private static let commitment = Schema.object([
    ("period", .optional(.integer("Which billing period it is."))),
    ("periods", .optional(.integer("Of how many."))), ("ends_at", .optional(.time(""))),
    ("auto_renew", .optional(.boolean("Whether a further commitment follows."))),
  ])
  private static let lastEvent = Schema.object([
    ("seq", .integer("Its place in the journal.")), ("notification_uuid", .text("Apple's.")),
    ("notification_type", .text("As Apple wrote it.")), ("subtype", .optional(.text(""))),
    ("signed_date", .time("When Apple signed it.")),
  ])

  // MARK: Timelines

  private static let history = Schema.object([
    object("list"),
    ("items", .list(.either([.named("HistoryEvent"), .named("HistoryQuarantined")]))),
    ("next_page", .optional(.text("Always null: a timeline comes whole."))),
    ("more_quarantined", .boolean("More is in quarantine about this customer than is shown.")),
  ])

  private static let payload = Schema.anything(
    "With raw=true: what the notification says, decoded; null where it cannot be recovered.")

  private static let event = Schema.object(
    [
      object("event"), ("seq", .integer("Its place in the journal.")),
      ("notification_uuid", .text("What deduplicates.")), ("source", .text("v2 or v1.")),
      ("notification_type", .text("As Apple wrote it.")), ("subtype", .optional(.text(""))),
      ("words", .text("What happened, in plain words.")),
      ("transaction_id", .optional(.text("The transaction it is about."))),
      ("signed_date", .time("When Apple signed it.")), ("received_at", .time("When it came.")),
      ("late", .boolean("Something that Apple signed later had come before it.")),
      ("late_by", .optional(.integer("Milliseconds between the two signed dates."))),
      ("redeliveries", .optional(redeliveries)), ("money", .optional(money)),
      (
        "changes",
        .map(
          .object([("before", .anything("")), ("after", .anything(""))]),
          "Members of the row that it changed, before and after.")
      ),
    ], optional: [("payload", payload)])

  private static let redeliveries = Schema.object([
    ("count", .integer("How often it came again.")), ("first_at", .time("")),
    ("last_at", .time("")),
  ])
  private static let money = Schema.object([
    ("price", .optional(.integer("Thousandths of the currency's unit."))),
    ("currency", .optional(.text("ISO 4217."))), ("quantity", .optional(.integer(""))),
    ("offer_type", .optional(.integer(""))), ("offer_identifier", .optional(.text(""))),
    ("offer_discount_type", .optional(.text(""))), ("offer_period", .optional(.text(""))),
    ("revocation_date", .optional(.time(""))), ("revocation_reason", .optional(.integer(""))),
    ("revocation_type", .optional(.text(""))),
    ("revocation_percentage", .optional(.integer("Thousandths of a percent."))),
  ])

  private static let historyQuarantined = Schema.object(
    quarantineMembers, optional: [("payload", payload)])

  private static let quarantineMembers: [(String, Schema)] = [
    object("quarantined"), ("id", .integer("What `subledger quarantine admit` takes.")),
    ("reason", .text("Why it was not admitted.")),
    ("notification_uuid", .optional(.text(""))), ("source", .text("v2 or v1.")),
    ("environment", .optional(.text("As it says itself."))),
    ("bundle_id", .optional(.text("As it says itself."))),
    ("notification_type", .optional(.text(""))), ("signed_date", .optional(.time(""))),
    ("received_at", .time("When it came.")),
  ]

  private static let quarantined = Schema.object(quarantineMembers)

  // MARK: Overview and comparison

  private static let overview = Schema.object([
    object("overview"), ("at", .time("When it was asked.")),
    ("hours", .integer("How many are shown, the one under way included.")),
    ("from", .time("The beginning of the first hour.")),
    ("counted_from", .time("Accepted events are counted from here; `from` once all are.")),
    ("started_at", .time("Duplicates, refused and unavailable are counted since then.")),
    ("through_seq", .integer("The last event that is counted.")),
    (
      "notifications",
      .list(
        .object([
          ("hour", .time("Its beginning.")),
          (
            "outcome",
            .oneOf(["accepted", "duplicate", "quarantined", "refused", "unavailable"], "")
          ),
          ("notification_type", .optional(.text("Null where nobody vouches for it."))),
          ("count", .integer("")),
        ]))
    ), ("rows", .optional(overviewRows)),
    (
      "quarantine",
      .object([
        ("count", .integer("Kept.")),
        ("only_counted", .optional(.integer("Of other apps, past what is kept of them."))),
        (
          "by_reason",
          .list(
            .object([
              ("environment", .optional(.text(""))), ("bundle_id", .optional(.text(""))),
              ("reason", .text("")), ("count", .integer("")), ("last_received_at", .time("")),
            ]))
        ),
      ])
    ), ("apps", .list(overviewApp)),
  ])

  /// Null until they have been counted once.
  private static let overviewRows = Schema.object([
    ("counted_at", .time("Statuses are as of then.")),
    ("folded_through", .integer("The last event in them.")), ("total", .integer("")),
    ("broken", .integer("Rows whose fold failed.")),
    (
      "by_status",
      .list(
        .object([
          ("environment", environment), ("bundle_id", bundleId), ("status", status),
          ("gives_access", .boolean("")), ("count", .integer("")),
        ]))
    ),
  ])

  private static let overviewApp = Schema.object([
    ("environment", environment), ("bundle_id", bundleId),
    ("configured", .boolean("Whether its notifications are admitted today.")),
    (
      "last_event",
      .optional(
        .object([
          ("seq", .integer("")), ("notification_type", .text("")),
          ("subtype", .optional(.text(""))),
          ("signed_date", .time("")), ("received_at", .time("")),
        ]))
    ),
  ])

  private static let fold = Schema.object([
    ("version", .integer("")), ("fingerprint", .text("What that fold makes of a fixed history.")),
  ])

  private static let comparison = Schema.object([
    object("comparison"), ("at", .time("Access is told as of then.")),
    ("made_at", .time("When `rebuild --diff` ran.")),
    ("through_seq", .integer("Both sides go so far.")), ("live_fold", fold), ("built_fold", fold),
    ("equal", .integer("Rows.")), ("equal_but_registers", .integer("Of those, kept otherwise.")),
    ("changed", .integer("")), ("added", .integer("")), ("gone", .integer("")),
    ("lose_access", .integer("Customers.")), ("gain_access", .integer("Customers.")),
    ("lost", .list(.named("ComparisonGroup"))), ("gained", .list(.named("ComparisonGroup"))),
    ("samples", .list(.named("Difference"))),
  ])

  private static let comparisonGroup = Schema.object([
    ("reason", .text("From which status to which.")), ("product_id", .optional(.text(""))),
    ("customers", .integer("")),
  ])

  private static let difference = Schema.object([
    object("difference"), ("environment", environment), ("bundle_id", bundleId),
    ("original_transaction_id", .text("")),
    ("change", .oneOf(["changed", "added", "gone"], "")),
    ("access", .oneOf(["lost", "gained", "same"], "")),
    ("fields", .list(.text("Members of the row that differ."))),
    ("before", .optional(.named("Entitlement"))), ("after", .optional(.named("Entitlement"))),
  ])

  // MARK: The rest

  private static let version = Schema.object([
    ("version", .text("")), ("fold", .text("")), ("fingerprint", .text("")), ("sqlite", .text("")),
    ("zstd", .text("")), ("openssl", .text("")),
    ("digest", .optional(.text("Of all rows, in hexadecimal; null while there are none."))),
  ])

  private static let taken = Schema.object([
    ("outcome", .oneOf(["accepted", "duplicate"], "It is in the journal, synced.")),
    ("seq", .integer("Its place there.")),
  ])

  private static let state = Schema.object([("status", .oneOf(["alive", "ready"], ""))])

  private static let notificationV2 = Schema.open(
    [("signedPayload", .text("A compact JWS with its certificates."))],
    required: ["signedPayload"], "App Store Server Notifications, version 2.")

  private static let notificationV1 = Schema.open(
    [
      ("notification_type", .text("")), ("password", .text("The app's shared secret.")),
      ("unified_receipt", .open([], required: [], "")),
    ], required: ["notification_type", "password"],
    "App Store Server Notifications, version 1, of an app whose secret is configured.")

  /// RFC 9457.
  private static let problem = Schema.object([
    ("type", .text("A URN with the code in it.")), ("title", .text("")),
    ("status", .integer("That of the answer.")), ("detail", .text("")),
    ("code", .text("What a program goes by.")),
    ("retryable", .boolean("Whether the same request may be answered otherwise later.")),
  ])
}
