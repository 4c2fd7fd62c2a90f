public import AppStore

/// A genuine notification that is not admitted and is to be quarantined (promise 2). A property
/// that could not be read is nil.
public struct NewQuarantine: Sendable {
  /// The reason code: `other_app`, `payload`, and so on.
  public var reason: String
  var owner: Owner
  public var source: EventSource
  public var notificationUUID: NotificationUUID?
  public var environment: Environment?
  public var bundleId: String?
  public var notificationType: String?
  /// The id of the subscription, if the notification names one.
  public var originalTransactionId: String?
  /// Apple's time, in milliseconds since 1970 UTC.
  var signedDate: Int64?
  /// Our time, in milliseconds since 1970 UTC.
  public var receivedAt: Int64
  public var body: [UInt8]
  /// SHA-256 of `body`.
  public var bodySHA256: [UInt8]

  /// Whose notification it is, as far as it says.
  public enum Owner: Sendable {
    case ours
    /// Of an app that is not configured. Any developer can send these, so their number is capped.
    case foreign
    /// It names no app that can be read. Capped separately.
    case unnamed
  }

  public init(
    reason: String, owner: Owner, source: EventSource, notificationUUID: NotificationUUID?,
    environment: Environment?, bundleId: String?, notificationType: String?,
    originalTransactionId: String? = nil, signedDate: Int64?, receivedAt: Int64, body: [UInt8],
    bodySHA256: [UInt8]
  ) {
    self.reason = reason
    self.owner = owner
    self.source = source
    self.notificationUUID = notificationUUID
    self.environment = environment
    self.bundleId = bundleId
    self.notificationType = notificationType
    self.originalTransactionId = originalTransactionId
    self.signedDate = signedDate
    self.receivedAt = receivedAt
    self.body = body
    self.bodySHA256 = bodySHA256
  }
}
