/// What the owner says of his customers.
extension Schemas {
  static let claim = Schema.open(
    [
      ("originalTransactionId", Parameter.id.schema),
      ("environment", .oneOf(Parameter.environments, "Production if left out.")),
      ("bundleId", .text("The app; needed only if the token covers several.")),
    ], required: ["originalTransactionId"], "A purchase without Apple's proof.")

  static let erased = Schema.object([("outcome", .oneOf(["erased"], "It is forgotten."))])

  static let newGrant = Schema.open(
    [
      ("entitlement", .text("A name of the configuration.")), ("until", .moment),
      ("reason", .text("For people, at most 500 characters. It stays in the journal for ever.")),
    ], required: ["entitlement"], "What is granted; without `until`, for ever.")

  static let grant = Schema.object([
    object("grant"), ("id", .text("The id of the grant.")), ("bundle_id", bundleId),
    ("entitlement", .text("The name of the entitlement.")), ("granted_at", .time("")),
    ("until", .optional(.time("When it ends; null: never."))),
    ("reason", .optional(.text(""))), ("granted_by", .text("The name of the token.")),
    ("revoked_at", .optional(.time("When it was ended; null if it was not."))),
  ])

  static let granted = Schema.object([
    (
      "outcome",
      .oneOf(
        ["accepted", "duplicate"],
        "Accepted: it is a new event. Duplicate: the journal says so already.")
    ), ("grant", .named("Grant")),
  ])
}
