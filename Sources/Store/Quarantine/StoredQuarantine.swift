public import AppStore

/// A notification read from the quarantine. Times are milliseconds since 1970 UTC; a property that
/// could not be read from the notification is nil.
public struct StoredQuarantine: Sendable, Equatable {
  public let id: Int64
  public let reason: String
  let isForeign: Bool
  public let source: EventSource
  public let notificationUUID: String?
  public let environment: Environment?
  public let bundleId: String?
  public let notificationType: String?
  public let signedDate: Int64?
  public let receivedAt: Int64
  /// Empty if it was not read or cannot be recovered.
  public let body: [UInt8]
  public let bodySHA256: [UInt8]
}
