public import AppStore

/// What a notification that is not admitted says of itself. A property that could not be read is
/// nil.
public struct QuarantineClaims: Sendable {
  public var notificationUUID: NotificationUUID?
  public var environment: Environment?
  public var bundleId: String?
  public var notificationType: String?
  /// The id of the subscription, if it names one.
  public var originalTransactionId: String?
  /// Apple's time, in milliseconds since 1970 UTC.
  public var signedDate: Int64?

  public init(
    notificationUUID: NotificationUUID? = nil, environment: Environment?, bundleId: String?,
    notificationType: String?, originalTransactionId: String? = nil, signedDate: Int64?
  ) {
    (self.notificationUUID, self.environment) = (notificationUUID, environment)
    (self.bundleId, self.notificationType) = (bundleId, notificationType)
    (self.originalTransactionId, self.signedDate) = (originalTransactionId, signedDate)
  }
}
