import AppStore
import Entitlements
import JournalStore
public import StrictJSON

/// Why a row says what it says: for each field the event that set it and the rule that let it win,
/// what decided the status, and what will change it next.
///
/// The keys of the fold's registers name the notifications they were taken from, so nothing is
/// guessed: a sentence follows from the register that won, and the status from the rule that the
/// row itself was made by.
public struct Explanation: Sendable {
  /// One field of the row, or several that always come together.
  public struct Field: Sendable {
    public let name: String
    public let value: JSONValue
    /// The event that set it; nil where no event did.
    public let event: Source?
    /// One sentence.
    public let why: String
  }

  /// An event of the journal, named.
  public struct Source: Sendable {
    public let seq: Int64
    public let notificationUUID: String
    public let notificationType: String
    public let subtype: String?
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

    var json: JSONValue {
      .object([
        ("seq", .integer(seq)), ("notification_uuid", .string(notificationUUID)),
        ("notification_type", .string(notificationType)), ("subtype", .optional(subtype)),
        ("signed_date", .integer(signedDate)), ("received_at", .integer(receivedAt)),
      ])
    }
  }

  /// What the passing of time will do, if nothing else comes.
  public struct Transition: Sendable {
    /// Milliseconds since 1970.
    public let at: Int64
    public let status: String
    public let givesAccess: Bool
    public let productId: String?
  }

  public let row: RowDocument
  /// Why there is access or none.
  public let verdict: String
  public let fields: [Field]
  /// Nil where time alone changes nothing any more.
  public let next: Transition?

  public var json: JSONValue {
    .object([
      ("object", .string("explanation")), ("row", row.json), ("verdict", .string(verdict)),
      (
        "fields",
        .array(
          fields.map { field in
            .object([
              ("field", .string(field.name)), ("value", field.value),
              ("event", field.event?.json ?? .null), ("why", .string(field.why)),
            ])
          })
      ),
      (
        "next",
        next.map { turn in
          .object([
            ("at", .integer(turn.at)), ("status", .string(turn.status)),
            ("gives_access", .boolean(turn.givesAccess)),
            ("product_id", .optional(turn.productId)),
          ])
        } ?? .null
      ),
    ])
  }
}
