public import AppStore
import Store
public import StrictJSON

/// A quarantined notification, without its body.
public struct QuarantinedEntry: Sendable {
  /// The id that `quarantine admit` expects.
  public let id: Int64
  public let reason: String
  let source: EventSource
  let notificationUUID: String?
  public let environment: Environment?
  public let bundleId: String?
  public let notificationType: String?
  /// Milliseconds since 1970, as `receivedAt`.
  public let signedDate: Int64?
  public let receivedAt: Int64
  /// The decoded notification; nil unless it was asked for.
  public let payload: JSONValue?

  init(_ item: StoredQuarantine, isRaw: Bool) {
    id = item.id
    reason = item.reason
    source = item.source
    notificationUUID = item.notificationUUID
    environment = item.environment
    bundleId = item.bundleId
    notificationType = item.notificationType
    signedDate = item.signedDate
    receivedAt = item.receivedAt
    payload = isRaw ? DecodedPayload.json(item) : nil
  }

  /// The key of the stream it would belong to. What the notification does not say is empty, which
  /// is in the scope of no token that has lists.
  func key(_ originalTransactionId: String) -> StreamKey {
    StreamKey(
      environment: environment ?? Environment(rawValue: ""), bundleId: bundleId ?? "",
      originalTransactionId: originalTransactionId)
  }

  public var json: JSONValue { Self.object.json(self) }

  /// - Parameter name: the document describes it twice, of a list of its own and in a timeline.
  private static func object(_ name: String) -> JSONObject<QuarantinedEntry> {
    JSONObject(name, members)
  }

  public static let object = object("Quarantined")
  static let inHistory = object("HistoryQuarantined")

  private static let members: [JSONMember<QuarantinedEntry>] = [
    .type("quarantined"),
    JSONMember("id", .integer("The id for `subledger quarantine admit`.")) { $0.id },
    JSONMember("reason", .text("Why it was not admitted.")) { $0.reason },
    JSONMember("notification_uuid", .text()) { $0.notificationUUID },
    JSONMember("source", .text("v2, v1 or receipt.")) { $0.source.rawValue },
    JSONMember("environment", .text("The environment that it claims.")) {
      $0.environment?.rawValue
    },
    JSONMember("bundle_id", .text("The bundle id that it claims.")) { $0.bundleId },
    JSONMember("notification_type", .text()) { $0.notificationType },
    JSONMember("signed_date", .time()) { $0.signedDate },
    JSONMember("received_at", .time("When it was received.")) { $0.receivedAt },
    .ifAny("payload", .payload) { $0.payload },
  ]
}
