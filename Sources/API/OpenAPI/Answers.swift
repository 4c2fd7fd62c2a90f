import Delivery
import Entitlements
import Ledger
import Queries
import Store
import StrictJSON

/// The answers that are made of what other modules know.
enum Answers {
  // MARK: Lists

  struct Page: Sendable {
    let items: [JSONValue]
    /// The parameter `after` of the next page; nil at the end.
    let next: String?
  }

  static func list<Item>(of item: JSONObject<Item>) -> JSONObject<Page> {
    JSONObject(JSONMember.page(of: item.schema, { $0.items }, next: { $0.next }))
  }

  static let rows = JSONObject<(page: Page, foldVersion: Int)>(
    "EntitlementList",
    JSONMember.page(of: RowDocument.object.schema, { $0.page.items }, next: { $0.page.next }) + [
      JSONMember(
        "fold_version",
        .integer("The fold that made the rows; another one's while this program's are built.")
      ) { $0.foldVersion }
    ])

  /// A list without pages.
  static func all<Item: Sendable>(of item: JSONObject<Item>) -> JSONObject<[Item]> {
    JSONObject([.type("list"), JSONMember("items", listOf: item) { $0 }])
  }

  // MARK: What was journaled

  static let journaled = JSONObject<(outcome: Outcome, seq: Int64)>([
    outcome(
      ["accepted", "duplicate", "conflict"],
      "The event is in the journal and synced to disk. A conflict has the UUID of an event with "
        + "other content; it is in quarantine."
    ) { $0.outcome },
    JSONMember("seq", .integer("The event's position in the journal.")) { $0.seq },
  ])

  static let submitted = JSONObject<(outcome: Outcome, row: RowDocument?)>([
    outcome(
      ["accepted", "confirmed", "duplicate"],
      "Accepted: it is a new event. Confirmed: Apple says what the journal says already, and it "
        + "is held beside it. Duplicate: the same was handed over before."
    ) { $0.outcome },
    JSONMember("entitlement", .optional(RowDocument.object.schema)) { $0.row?.json ?? .null },
  ])

  static let receipt = JSONObject<(outcome: Outcome, rows: [RowDocument], hasMore: Bool)>([
    outcome(
      ["accepted", "confirmed", "duplicate"],
      "Accepted: it made an event for one customer at least. Confirmed: Apple says what the "
        + "journal says already, and it is held beside it, or it lists no purchase. Duplicate: "
        + "the same was handed over before."
    ) { $0.outcome },
    JSONMember("entitlements", listOf: RowDocument.object) { $0.rows },
    JSONMember(
      "more",
      .boolean(
        "Whether the receipt names more original transaction ids than entitlements has: it has "
          + "those of the 100 with the newest purchases.")
    ) { $0.hasMore },
  ])

  static let granted = JSONObject<(outcome: Outcome, grant: GrantDocument?)>([
    outcome(
      ["accepted", "duplicate"],
      "Accepted: it is a new event. Duplicate: the journal says so already."
    ) { $0.outcome },
    JSONMember("grant", GrantDocument.object.schema) { $0.grant?.json ?? .null },
  ])

  static let refund = JSONObject<(outcome: Outcome, request: RefundLine?)>([
    outcome(
      ["accepted", "duplicate"],
      "Accepted: it is a new event. Duplicate: the same was said last of this request."
    ) { $0.outcome },
    JSONMember("refund_request", .optional(RefundDocument.object.schema)) {
      $0.request.map { RefundDocument($0).json } ?? .null
    },
  ])

  static let erased = JSONObject<Void>([
    JSONMember("outcome", .oneOf(["erased"], "It is forgotten.")) { _ in "erased" }
  ])

  private static func outcome<Subject>(
    _ names: [String], _ meaning: String, _ value: @escaping @Sendable (Subject) -> Outcome
  ) -> JSONMember<Subject> {
    JSONMember("outcome", .oneOf(names, meaning)) { value($0).name }
  }

  // MARK: The daemon

  /// What a token is told of the daemon, and of itself.
  struct Version {
    let versions: [(name: String, version: String)]
    var digest: String?
    let token: Configuration.ReadToken
  }

  static let version = JSONObject<Version>(
    ComponentVersions.all(of: "").enumerated().map { index, part in
      JSONMember(part.name, .text()) { $0.versions[index].version }
    } + [
      JSONMember(
        "digest",
        .text(
          "The digest of all rows in hexadecimal; null while there is no projection, and without "
            + "a read token for all apps and environments.")
      ) { $0.digest },
      JSONMember(
        "may", .list(.oneOf(Configuration.Permission.allCases.map(\.rawValue)))
      ) { $0.token == .nobody ? nil : $0.token.permissions.map(\.rawValue).sorted() },
    ])

  static let state = JSONObject<String>([
    JSONMember("status", .oneOf(["alive", "ready"])) { $0 }
  ])

  static let ready = JSONObject<
    (
      projection: ProjectionState, receivedAhead: Int64, faults: CopyFaults,
      mappings: [OtherMapping]
    )
  >([
    JSONMember("status", .oneOf(["ready"])) { _ in "ready" },
    JSONMember(
      "projection",
      .oneOf(
        ProjectionState.allCases.map(\.rawValue),
        "The state of the entitlement rows. Notifications are taken in every one.")
    ) { $0.projection.rawValue },
    .ifAny(
      "received_ahead_seconds",
      .integer(
        "How far the newest receive time is ahead of this machine's clock, where that is more than "
          + "five minutes: one of the clocks is wrong, or was.")
    ) { $0.receivedAhead > 0 ? $0.receivedAhead / 1000 : nil },
    .ifAny("shared_journal", CopyFaults.object.schema) {
      $0.faults == .none ? nil : CopyFaults.object.json($0.faults)
    },
    .ifAny("other_mappings", .list(OtherMapping.object.schema)) {
      $0.mappings.isEmpty ? nil : JSONValue.array($0.mappings.map(OtherMapping.object.json))
    },
  ])
}
