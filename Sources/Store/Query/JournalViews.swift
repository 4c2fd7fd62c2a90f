/// The views of `journal.sqlite`.
extension SQLView {
  static let journal = SQLView(
    name: "journal_v1", meaning: "One row for each event of the journal.",
    columns: [
      Column("seq", .integer, "The position in the journal, counted from 1 without gaps."),
      Column("notification_uuid", .text, "Apple's notificationUUID, in lower case."),
      Column(
        "source", .text,
        "v2 or v1, the notification's version; transaction, renewal or receipt for evidence; "
          + "account or grant for what you said."),
      Column("environment", .text, "Production or Sandbox."),
      Column("bundle_id", .text, "The bundle id of the app."),
      Column("notification_type", .text, "The type, as Apple wrote it."),
      Column("subtype", .text, "The subtype, as Apple wrote it; null if there is none."),
      Column(
        "original_transaction_id", .text,
        "The id of the customer's purchase; null if the notification has none."),
      Column("signed_date_ms", .integer, "When Apple signed it; of V1 the date of its evidence."),
      Column("received_at_ms", .integer, "When it was received; this never decreases along seq."),
      Column("body_sha256", .blob, "The SHA-256 of the body."),
      Column("hash", .blob, "The hash of the chain up to and including this event."),
      Column(
        "arrival", .text,
        "How it arrived: posted, or from Apple's history; also import, asked or submitted."),
    ], schema: journalSchema)

  /// The view of the events up to a seq.
  static func journalSQL(through seq: Int64) -> String {
    """
    CREATE TEMP VIEW journal_v1 AS SELECT * FROM \(journalSchema).journal_v1 WHERE seq <= \(seq)
    """
  }

  static let quarantine = SQLView(
    name: "quarantine_v1",
    meaning: "One row for each notification that was genuine and not admitted.",
    columns: [
      Column("id", .integer, "The number that `quarantine admit` and `quarantine drop` take."),
      Column("reason", .text, "Why it was not admitted, such as other_app or conflict."),
      Column("source", .text, "The version of the notification, v2 or v1; or receipt."),
      Column("notification_uuid", .text, "Apple's notificationUUID; null if it has none."),
      Column("environment", .text, "Production or Sandbox; null if it does not say."),
      Column("bundle_id", .text, "The bundle id of the app; null if it does not say."),
      Column("notification_type", .text, "The type, as Apple wrote it; null if it has none."),
      Column("signed_date_ms", .integer, "When Apple signed it; null if it does not say."),
      Column("received_at_ms", .integer, "When it was received."),
      Column("body_sha256", .blob, "The SHA-256 of the body."),
    ], schema: journalSchema)
}
