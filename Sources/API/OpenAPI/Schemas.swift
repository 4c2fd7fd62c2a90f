import Ledger
import Queries

/// The named schemas of the OpenAPI document. A test checks every response of the routes against
/// them, member by member.
enum Schemas {
  /// In the order of the document.
  static let named: [(String, Schema)] = [
    ("Entitlement", entitlement), ("EntitlementList", entitlements),
    ("History", history), ("HistoryEvent", event),
    ("HistoryTransition", transition), ("HistoryQuarantined", historyQuarantined),
    ("Customer", customer), ("NamedEntitlement", namedEntitlement),
    ("CustomerList", list(of: .named("Customer"))), ("CustomerQuery", customerQuery),
    ("Overview", overview), ("Quarantined", quarantined),
    ("QuarantineList", list(of: .named("Quarantined"))), ("Comparison", comparison),
    ("ComparisonGroup", comparisonGroup), ("Difference", difference), ("Version", version),
    ("Taken", journaled), ("State", state), ("Ready", ready), ("NotificationV2", notificationV2),
    ("NotificationV1", notificationV1), ("SignedTransaction", signedTransaction),
    ("Submitted", submitted), ("Claim", claim), ("Erased", erased), ("NewGrant", newGrant),
    ("Grant", grant), ("Granted", granted), ("GrantList", list(of: .named("Grant"))),
    ("AppReceipt", appReceipt), ("Receipt", receipt),
    ("Event", feedEvent), ("EventPage", eventPage), ("Sink", sink), ("SinkList", sinks),
    ("Problem", problem),
  ]

  // Descriptions are empty where the name says everything.

  // MARK: Shared members

  static let environment = Schema.oneOf(Parameter.environments, "Apple's environment.")
  static let bundleId = Schema.text("The bundle id of the app.")
  static let status = Schema.oneOf(
    Parameter.statuses, "The status of the entitlement at that time.")

  /// The member `object`, which names the type.
  static func object(_ name: String) -> (String, Schema) {
    ("object", .oneOf([name], "The type of this object."))
  }

  private static func list(of item: Schema) -> Schema { .object(listMembers(item)) }

  private static func listMembers(_ item: Schema) -> [(String, Schema)] {
    [
      object("list"), ("items", .list(item)),
      ("next_page", .optional(.text("The value of `after` for the next page; null at the end."))),
    ]
  }

  private static let entitlements = Schema.object(
    listMembers(.named("Entitlement")) + [
      (
        "fold_version",
        .integer("The fold that made the rows; another one's while this program's are built.")
      )
    ])

  // MARK: State

  private static let version = Schema.object([
    ("version", .text("")), ("fold", .text("")), ("fingerprint", .text("")), ("sqlite", .text("")),
    ("zstd", .text("")), ("openssl", .text("")),
    (
      "digest",
      .optional(
        .text(
          "The digest of all rows in hexadecimal; null while there is no projection, and without "
            + "a read token for all apps and environments."))
    ),
  ])

  private static let state = Schema.object([("status", .oneOf(["alive", "ready"], ""))])

  private static let ready = Schema.object(
    [
      ("status", .oneOf(["ready"], "")),
      (
        "projection",
        .oneOf(
          ProjectionState.allCases.map(\.rawValue),
          "The state of the entitlement rows. Notifications are taken in every one.")
      ),
    ],
    optional: [
      (
        "shared_journal",
        .object([
          ("broken_events", .integer("Events whose body is not what its hash says.")),
          ("unproven_events", .integer("Events that are not proven, and fold into nothing.")),
          ("skipped_notes", .integer("Other writes that could not be applied.")),
          ("next", .text("What to do about them.")),
        ])
      )
    ])

  /// RFC 9457.
  private static let problem = Schema.object(
    [
      ("type", .text("A URN that contains the code.")), ("title", .text("")),
      ("status", .integer("The HTTP status of the response.")), ("detail", .text("")),
      ("code", .text("The reason, for programs; it is stable across releases.")),
      ("retryable", .boolean("Whether the same request may succeed later.")),
    ],
    optional: [
      (
        "reason",
        .oneOf(
          ParameterFault.Reason.allCases.map(\.rawValue), "What is wrong with the parameter.")
      ),
      (
        "parameter",
        .optional(.text("The parameter or member that is wrong; null if its name is unknown."))
      ),
      (
        "position",
        .optional(.integer("Which parameter of the query is wrong, counted from 1."))
      ),
      ("expected", .anything("A JSON Schema of the values or names that are valid; or null.")),
    ])
}
