import AppStore
import Entitlements
import Platform
import Queries
import Store
public import StrictJSON

/// What is sent to a webhook: a structured CloudEvent (CloudEvents 1.0, JSON format, section 3.2).
public struct Message: Sendable {
  let id: String
  let journalId: String
  let type: String
  let subject: String?
  /// Milliseconds since 1970, as `timestamp`: when it happened here, and when Apple signed it.
  let time: Int64
  let timestamp: Int64
  let data: Body

  enum Body: Sendable {
    case event(Content)
    case customer(CustomerContent)
    case test
  }

  /// The member `data`. The customer's row is as of `received_at`, folded through the very event:
  /// a receiver may keep the newest by `seq`. What no event causes has the same members, and null
  /// where only an event has a value.
  public struct Content: Sendable {
    let seq: Int64
    let environment: Environment
    let bundleId: String
    let originalTransactionId: String?
    /// Nil: time alone, or another fold, changed the answer.
    var event: MessageEvent?
    let source: String
    /// Its number among the customer's events, and the customer's event before it.
    var number: (seq: Int64?, previous: Int64?) = (nil, nil)
    /// Nil of what the owner did not say.
    var statement: StatementContent?
    /// Nil of what is about no request for a refund.
    var refundRequest: RefundLine?
    /// Nil of what is about no customer.
    var rows: EventRows?
    var hadAccess = false
    /// By field: the values before and after.
    var changes = JSONValue.object([])
    /// Nil: not asked for.
    var payload: JSONValue?
  }

  var bytes: [UInt8] { Self.object.json(self).bytes }

  public static let object = JSONObject<Message>(
    "Message",
    [
      JSONMember("specversion", .oneOf(["1.0"])) { _ in "1.0" },
      JSONMember("id", .text("The idempotency key: the same in every attempt.")) { $0.id },
      JSONMember("source", .text("The journal that the message comes from.")) {
        "/subledger/\($0.journalId)"
      },
      .ifAny(
        "subject",
        .text(
          "The original transaction id; the customer's id of \(MessageKind.customer.type). "
            + "Absent if it is about none.")
      ) {
        $0.subject
      },
      JSONMember(
        "type",
        .text(
          "app_store. and Apple's type, or what else Apple signed; subledger. and what you said; "
            + "refund_request. and what became of one; "
            + "\(MessageKind.turn.type) by time alone, \(MessageKind.recalculation.type) by "
            + "another fold; \(MessageKind.customer.type) by name; \(MessageType.test).")
      ) { $0.type },
      JSONMember("time", .text("When it was received, or happened; RFC 3339.")) {
        Timestamp.text($0.time)
      },
      JSONMember("timestamp", .text("When Apple signed it, else as `time`.")) {
        Timestamp.text($0.timestamp)
      },
      JSONMember("datacontenttype", .oneOf(["application/json"])) { _ in "application/json" },
      JSONMember(
        "data", .any(of: [Content.object.schema, CustomerContent.object.schema, test.schema])
      ) {
        switch $0.data {
        case .event(let content): Content.object.json(content)
        case .customer(let content): CustomerContent.object.json(content)
        case .test: test.json(())
        }
      },
    ])

  public static var content: JSONObject<Content> { Content.object }

  /// Headers of the request, with what each says.
  public static let headers = [
    ("webhook-id", "The idempotency key: the same in every attempt and replay."),
    ("webhook-timestamp", "When it was signed, in seconds since 1970; with a secret."),
    ("webhook-signature", "Signatures of id, timestamp and body, as in Standard Webhooks."),
    ("subledger-attempt", "The number of the attempt, from 1."),
    ("subledger-replay", "The number of the replay; absent otherwise."),
  ]

  private static let test = JSONObject<Void>([
    JSONMember("entitlement", .null) { _ in JSONValue.null }
  ])
}

extension Message.Content {
  static let object = JSONObject<Message.Content>("MessageData", event + customer)

  private static let event: [JSONMember<Message.Content>] = [
    JSONMember("seq", .integer("The event, or the customer's last one that is folded in.")) {
      $0.seq
    },
    JSONMember("environment", .environment) { $0.environment.rawValue },
    JSONMember("bundle_id", .bundleId) { $0.bundleId },
    JSONMember("notification_type", .text("The type, as Apple wrote it.")) {
      $0.event?.notificationType
    },
    JSONMember("subtype", .text()) { $0.event?.subtype },
    JSONMember("original_transaction_id", .text()) { $0.originalTransactionId },
    JSONMember("signed_date", .time("When Apple signed it.")) { $0.event?.signedDate },
    JSONMember("received_at", .time("When it was received.")) { $0.event?.receivedAt },
    JSONMember("source", .text("As in the feed; clock or rebuild for what no event causes.")) {
      $0.source
    },
    JSONMember("arrival", .text("How it arrived.")) { $0.event?.arrival.rawValue },
  ]

  private static let customer: [JSONMember<Message.Content>] =
    [
      JSONMember("stream_seq", .integer("Its number among the customer's events.")) {
        $0.number.seq
      },
      JSONMember("previous_seq", .integer("The customer's event before it.")) {
        $0.number.previous
      },
      JSONMember("access", access) { $0.rows == nil ? nil : $0 },
      JSONMember(
        "changes",
        .map(
          .list(.anything()), "The members of the row that changed: the values before and after.")
      ) { $0.changes },
      JSONMember("entitlement", .optional(RowDocument.object.schema)) { $0.rows?.json ?? .null },
      JSONMember("next", next) { $0.rows?.next },
    ] + [
      .ifAny("statement", StatementContent.object.schema) {
        $0.statement.map(StatementContent.object.json)
      },
      .ifAny("refund_request", RefundDocument.object.schema) {
        $0.refundRequest.map { RefundDocument($0).json }
      },
      .ifAny("payload", .anything("What Apple signed, decoded, where the sink includes it.")) {
        $0.payload
      },
    ]

  private static let access = JSONObject<Message.Content>([
    JSONMember("before", .boolean("Whether the row gave access.")) { $0.hadAccess },
    JSONMember("after", .boolean("Whether it does now.")) {
      $0.rows?.after?.entitlement.givesAccess ?? false
    },
  ])

  private static let next = JSONObject<Entitlement>([
    JSONMember("at", .time("When time alone changes the answer next.")) { $0.asOf },
    JSONMember("status", .text("The status from then on.")) { $0.status.rawValue },
    JSONMember("gives_access", .boolean()) { $0.givesAccess },
  ])
}
