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

  public var json: JSONValue {
    let members: [(String, JSONValue)] = [
      ("object", .string("quarantined")), ("id", .integer(id)), ("reason", .string(reason)),
      ("notification_uuid", .optional(notificationUUID)), ("source", .string(source.rawValue)),
      ("environment", .optional(environment?.rawValue)), ("bundle_id", .optional(bundleId)),
      ("notification_type", .optional(notificationType)),
      ("signed_date", .optional(signedDate)), ("received_at", .integer(receivedAt)),
    ]
    return .object(members + (payload.map { [("payload", $0)] } ?? []))
  }
}
