/// What Apple sends, and what it gets back.
extension Schemas {
  static let journaled = Schema.object([
    (
      "outcome",
      .oneOf(
        ["accepted", "duplicate", "conflict"],
        "The event is in the journal and synced to disk. A conflict has the UUID of an event with "
          + "other content; it is in quarantine.")
    ),
    ("seq", .integer("The event's position in the journal.")),
  ])

  static let submitted = Schema.object([
    (
      "outcome",
      .oneOf(
        ["accepted", "confirmed", "duplicate"],
        "Accepted: it is a new event. Confirmed: Apple says what the journal says already, and it "
          + "is held beside it. Duplicate: the same was handed over before.")
    ),
    ("entitlement", .named("Entitlement")),
  ])

  static let signedTransaction = Schema.open(
    [
      ("signedTransaction", .text("The JWS of a StoreKit 2 transaction, in compact form.")),
      ("signedRenewalInfo", .text("The JWS of its renewal information.")),
      ("environment", .oneOf(Parameter.environments, "What is expected; Production if left out.")),
      ("account", .text("Your own id of the user, who has the purchase from now on.")),
    ], required: ["signedTransaction"], "A transaction of StoreKit 2, as the app received it.")

  static let receipt = Schema.object([
    (
      "outcome",
      .oneOf(
        ["accepted", "confirmed", "duplicate"],
        "Accepted: it made an event for one customer at least. Confirmed: Apple says what the "
          + "journal says already, and it is held beside it, or it lists no purchase. Duplicate: "
          + "the same was handed over before.")
    ),
    ("entitlements", .list(.named("Entitlement"))),
    (
      "more",
      .boolean(
        "Whether the receipt names more original transaction ids than entitlements has: it has "
          + "those of the 100 with the newest purchases.")
    ),
  ])

  static let appReceipt = Schema.open(
    [
      ("receipt", .text("The receipt in base64: PKCS#7 in DER, 2 MiB at most.")),
      ("environment", .oneOf(Parameter.environments, "What is expected; Production if left out.")),
    ], required: ["receipt"], "A receipt of the app, with 5,000 in-app records at most.")

  static let notificationV2 = Schema.open(
    [("signedPayload", .text("A JWS in compact form that contains its certificates."))],
    required: ["signedPayload"], "App Store Server Notifications, version 2.")

  static let notificationV1 = Schema.open(
    [
      ("notification_type", .text("")), ("password", .text("The app's shared secret.")),
      ("unified_receipt", .open([], required: [], "")),
    ], required: ["notification_type", "password"],
    "App Store Server Notifications, version 1, of an app whose secret is configured.")
}
