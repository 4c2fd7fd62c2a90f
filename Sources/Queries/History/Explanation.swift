import AppStore
import Entitlements
import Store
public import StrictJSON

/// Why a row is as it is: for each field the event that set it and the rule by which it did, what
/// decided the status, and what will change it next.
///
/// Nothing is guessed: the key of each register of the fold names the notification its value comes
/// from, and the status comes from the same `StatusRule` that made the row.
public struct Explanation: Sendable {
  /// One field of the row, or several that are always set together.
  public struct Field: Sendable {
    public let name: String
    public let value: JSONValue
    /// The event that set it; nil if no event did.
    public let event: Source?
    /// When the passing of time alone decided it, after `event` was signed; nil if it did not.
    /// Milliseconds since 1970.
    public let since: Int64?
    /// One sentence.
    public let why: String

    init(
      name: String, value: JSONValue, event: Source?, since: Int64? = nil, why: String
    ) {
      (self.name, self.value, self.event, self.why) = (name, value, event, why)
      self.since = since.flatMap { since in
        event.map { since > $0.signedDate } ?? true ? since : nil
      }
    }
  }

  /// The event of the journal that set a field.
  public struct Source: Sendable {
    public let seq: Int64
    let notificationUUID: NotificationUUID
    public let notificationType: String
    public let subtype: String?
    /// Milliseconds since 1970, as `receivedAt`.
    public let signedDate: Int64
    public let receivedAt: Int64

    init(_ event: StoredEvent) {
      seq = event.seq
      notificationUUID = event.notificationUUID
      notificationType = event.notificationType
      subtype = event.subtype
      signedDate = event.signedDate
      receivedAt = event.receivedAt
    }

    init(_ said: StoredStatement) {
      let envelope = said.statement.envelope(receivedAt: said.receivedAt)
      (seq, notificationUUID) = (said.seq, envelope.notificationUUID)
      (notificationType, subtype) = (envelope.notificationType, nil)
      (signedDate, receivedAt) = (envelope.signedDate, said.receivedAt)
    }

    var json: JSONValue {
      .object([
        ("seq", .integer(seq)), ("notification_uuid", .string(notificationUUID.description)),
        ("notification_type", .string(notificationType)), ("subtype", .optional(subtype)),
        ("signed_date", .integer(signedDate)), ("received_at", .integer(receivedAt)),
      ])
    }
  }

  /// The next change by the passing of time alone, unless another event arrives.
  public struct Transition: Sendable {
    /// Milliseconds since 1970.
    public let at: Int64
    public let status: String
    public let givesAccess: Bool
    let productId: String?
  }

  public let row: RowDocument
  /// One sentence: whether there is access, and why.
  public let verdict: String
  public let fields: [Field]
  /// Nil if the passing of time alone will change nothing.
  public let next: Transition?

  /// The same with some of the fields.
  public func with(fields: [Field]) -> Explanation {
    Explanation(row: row, verdict: verdict, fields: fields, next: next)
  }

  public var json: JSONValue {
    .object([
      ("object", .string("explanation")), ("row", row.json), ("verdict", .string(verdict)),
      (
        "fields",
        .array(
          fields.map { field in
            .object([
              ("field", .string(field.name)), ("value", field.value),
              ("event", field.event?.json ?? .null), ("since", .optional(field.since)),
              ("why", .string(field.why)),
            ])
          })
      ),
      (
        "next",
        next.map { transition in
          .object([
            ("at", .integer(transition.at)), ("status", .string(transition.status)),
            ("gives_access", .boolean(transition.givesAccess)),
            ("product_id", .optional(transition.productId)),
          ])
        } ?? .null
      ),
    ])
  }
}
