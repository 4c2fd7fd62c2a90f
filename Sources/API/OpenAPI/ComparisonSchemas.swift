/// The result of `rebuild --diff`.
extension Schemas {
  static let comparison = Schema.object([
    object("comparison"), ("at", .time("The time that access is compared for.")),
    ("made_at", .time("When `rebuild --diff` ran.")),
    (
      "through_seq",
      .optional(
        .integer("The last event on both sides; null if the token does not cover all events."))
    ), ("live_fold", fold),
    ("built_fold", fold), ("equal", .integer("The rows that are equal.")),
    (
      "equal_but_registers",
      .integer("The rows among them whose stored registers differ nevertheless.")
    ),
    ("changed", .integer("")), ("added", .integer("")), ("gone", .integer("")),
    ("lose_access", .integer("The customers who lose access.")),
    ("gain_access", .integer("The customers who gain access.")),
    ("lost", .list(.named("ComparisonGroup"))), ("gained", .list(.named("ComparisonGroup"))),
    ("samples", .list(.named("Difference"))),
  ])

  private static let fold = Schema.object([
    ("version", .integer("")),
    ("fingerprint", .text("A digest of what the fold computes from a fixed history.")),
  ])

  static let comparisonGroup = Schema.object([
    ("reason", .text("The status before and the status after.")),
    ("product_id", .optional(.text(""))), ("customers", .integer("")),
  ])

  static let difference = Schema.object([
    object("difference"), ("environment", environment), ("bundle_id", bundleId),
    ("original_transaction_id", .text("")),
    ("change", .oneOf(["changed", "added", "gone"], "")),
    ("access", .oneOf(["lost", "gained", "same"], "")),
    ("fields", .list(.text("The members of the row that differ."))),
    ("before", .optional(.named("Entitlement"))), ("after", .optional(.named("Entitlement"))),
  ])
}
