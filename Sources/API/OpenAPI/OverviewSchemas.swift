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
    ("unmapped_products", .list(unmappedProduct)), ("recovery", overviewRecovery),
  ])

  private static let unmappedProduct = Schema.object([
    ("bundle_id", bundleId), ("product_id", .text("It was sold and gives no entitlement by name.")),
    ("suggestion", .optional(.text("The entitlement that it probably belongs to."))),
  ])

  private static let overviewHour = Schema.object([
    ("hour", .time("The start of the hour.")),
    (
      "outcome",
      .oneOf(
        [
          "accepted", "duplicate", "quarantined", "refused", "unavailable", "evidence", "statement",
        ],
        "accepted: a notification that was journaled. evidence: another fact that Apple signed. "
          + "statement: a claim or grant of yours.")
    ),
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
    ("last_event", .optional(arrival)), ("last_notification", .optional(arrival)),
  ])

  private static let arrival = Schema.object([
    ("seq", .integer("")), ("notification_type", .text("")), ("subtype", .optional(.text(""))),
    ("signed_date", .time("")), ("received_at", .time("")),
  ])

  // MARK: Recovery

  private static let overviewRecovery = Schema.object([
    (
      "recovered_at",
      .optional(.time("When the last complete recovery since the daemon's start ended."))
    ),
    ("next_at", .optional(.time("When the next recovery begins."))),
    (
      "reconciled_at",
      .optional(.time("When the last complete daily reconciliation ended."))
    ),
    (
      "next_reconciliation_at", .optional(.time("When the next daily reconciliation begins."))
    ),
    (
      "apps",
      .list(
        .object([
          ("environment", environment), ("bundle_id", bundleId),
          (
            "recover",
            .oneOf(
              ["automatic", "off", "no_key"],
              "Whether the daemon asks Apple by itself: as configured, or without a key.")
          ),
          ("last_recovery", .optional(overviewLastRecovery)),
          ("last_reconciliation", .optional(overviewLastReconciliation)),
        ]))
    ),
  ])

  /// Null before any since the daemon's start.
  private static let overviewLastRecovery = Schema.object([
    ("at", .time("When it ended.")),
    (
      "reason",
      .oneOf(["start", "restore", "silence", "again", "failures"], "Why Apple was asked.")
    ),
    ("listed", .integer("The notifications that Apple listed.")),
    ("recovered", .integer("Those of them that were missing.")),
    ("delivered", .integer("Those that were missing though Apple believes them delivered.")),
    ("refused", .integer("Those that could not be journaled.")),
    ("gone", .boolean("Whether Apple no longer has a part of the time that was asked for.")),
    ("error", .optional(.text("Why it did not come to its end; it is tried again."))),
  ])

  /// Null before any since the daemon's start.
  private static let overviewLastReconciliation = Schema.object([
    ("at", .time("When it ended.")),
    (
      "asked",
      .integer(
        "The customers of whom Apple had said nothing since their paid period ended, and about "
          + "whom it was asked.")
    ),
    ("differed", .integer("Those of whom Apple said something else than the row.")),
    (
      "remaining",
      .integer("Those of whom it still does, with everything that Apple signed.")
    ),
    ("unknown", .integer("Those that Apple does not know.")),
    ("failed", .integer("Those that Apple could not be asked about.")),
    ("journaled", .integer("The events that were journaled.")),
    ("error", .optional(.text("Why not all were compared; it is tried again."))),
  ])
}
