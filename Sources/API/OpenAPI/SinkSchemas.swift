/// The feed of events, and where changes are sent.
extension Schemas {
  static let eventPage = Schema.object([
    object("list"), ("items", .list(.named("Event"))),
    ("next_page", .text("The cursor of the next page: the last place that was looked at.")),
    ("has_more", .boolean("Whether there is more to look at now.")),
    ("head", .integer("The last event of the journal.")),
  ])

  static let feedEvent = Schema.object(
    [
      object("event"), ("seq", .integer("Its position in the journal.")),
      ("notification_uuid", .text("The UUID by which duplicates are recognized.")),
      ("source", .text("v2 or v1; transaction, renewal or receipt; account or grant.")),
      ("environment", environment), ("bundle_id", bundleId),
      ("notification_type", .text("The type, as Apple wrote it.")),
      ("subtype", .optional(.text(""))), ("original_transaction_id", .optional(.text(""))),
      ("signed_date", .time("When Apple signed it.")),
      ("received_at", .time("When it was received.")), ("body_sha256", .text("")),
      ("hash", .text("The hash of the chain at this event.")),
      ("words", .text("What happened, in plain words.")),
      ("stream_seq", .optional(.integer("Its number among the customer's events."))),
      ("previous_seq", .optional(.integer("The customer's event before it."))),
    ],
    optional: [
      ("row", .optional(.named("Entitlement"))),
      ("payload", .anything("What Apple signed, decoded.")),
      ("body", .text("What Apple signed, as received; a receipt in base64.")),
    ])

  static let sinks = Schema.object([object("list"), ("items", .list(.named("Sink")))])

  static let sink = Schema.object(
    [
      object("sink"), ("name", .text("")), ("kind", .oneOf(["webhook", "forward", "mirror"], "")),
      ("url", .text("Where it is sent to, without the query; of a mirror host and port.")),
      (
        "state",
        .oneOf(
          ["up", "down", "paused", "gone", "lost", "full", "filling"],
          "up: it sends. down: the receiver does not answer, and is asked now and then. paused: by "
            + "a command. gone: the receiver answered 410. lost: its place in the journal is not "
            + "known. full: too many messages were refused. filling: a mirror gets all its rows.")
      ),
      ("since", .time("Since when it is in that state.")),
      ("reason", .optional(.text("Why, or what the last attempt failed with."))),
      (
        "last_status",
        .optional(.integer("The HTTP status of the last attempt; null if that got no answer."))
      ),
      ("cursor", .text("Its place in the journal, as a cursor.")),
      ("seq", .integer("Everything through this event is delivered, left out, held or dead.")),
      ("lag_events", .integer("The events after it.")),
      ("lag_milliseconds", .integer("How long the oldest of them that was read has waited.")),
      ("held", .integer("Messages that were refused and are tried again, and those behind them.")),
      ("dead", .integer("Messages that were given up.")),
      ("next_attempt_at", .optional(.time("When something held, or a probe, is due."))),
      ("delivered", .integer("Messages that the receiver took since the start.")),
      ("failed", .integer("Attempts since the start that got no answer.")),
      ("refused", .integer("Attempts since the start that the receiver refused.")),
      ("blocked", .integer("Of those that failed: to an address that may not be connected to.")),
    ],
    optional: [
      ("replay", .integer("Of a replay: its number.")),
      ("last", .optional(.integer("Of a replay: its last event."))),
    ])
}
