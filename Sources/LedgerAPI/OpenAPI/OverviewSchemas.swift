/// The counts of `GET /v1/overview`.
extension Schemas {
  static let overview = Schema.object([
    object("overview"), ("at", .time("When the overview was requested.")),
    ("hours", .integer("The number of hours that are shown, the current one included.")),
    ("from", .time("The start of the first hour.")),
    (
      "counted_from",
      .time("Accepted events are counted from this time; equal to `from` once all are counted.")
    ),
    (
      "started_at",
      .time("Duplicate, refused and unavailable notifications are counted from this time.")
    ),
    ("through_seq", .integer("The last event that is counted.")),
    ("notifications", .list(overviewHour)), ("rows", .optional(overviewRows)),
    ("quarantine", overviewQuarantine), ("apps", .list(overviewApp)),
  ])

  private static let overviewHour = Schema.object([
    ("hour", .time("The start of the hour.")),
    ("outcome", .oneOf(["accepted", "duplicate", "quarantined", "refused", "unavailable"], "")),
    ("notification_type", .optional(.text("The type; null if it is not proven."))),
    ("count", .integer("")),
  ])

  private static let overviewQuarantine = Schema.object([
    ("count", .integer("The notifications that are stored in quarantine.")),
    (
      "only_counted",
      .optional(.integer("The notifications that are not stored, because quarantine was full."))
    ),
    (
      "by_reason",
      .list(
        .object([
          ("environment", .optional(.text(""))), ("bundle_id", .optional(.text(""))),
          ("reason", .text("")), ("count", .integer("")), ("last_received_at", .time("")),
        ]))
    ),
  ])

  /// Null until the rows have been counted once.
  private static let overviewRows = Schema.object([
    ("counted_at", .time("The time that the statuses are for.")),
    ("folded_through", .integer("The seq of the last event in the rows.")),
    ("total", .integer("")), ("broken", .integer("The rows whose fold failed.")),
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
    ("configured", .boolean("Whether notifications of this app are admitted now.")),
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
}
