public import AppStore
import Platform

/// What the journal knows of an event beside its place and its body. Times are milliseconds since
/// 1970 UTC.
public struct EventEnvelope: Sendable, Equatable {
  public var notificationUUID: NotificationUUID
  public var source: EventSource
  public var environment: Environment
  public var bundleId: String
  public var notificationType: String
  public var subtype: String?
  /// Nil for an event without a transaction.
  public var originalTransactionId: String?
  /// Apple's time.
  public var signedDate: Int64
  /// Our time.
  public var receivedAt: Int64

  public init(
    notificationUUID: NotificationUUID, source: EventSource, environment: Environment,
    bundleId: String, notificationType: String, subtype: String?, originalTransactionId: String?,
    signedDate: Int64, receivedAt: Int64
  ) {
    (self.notificationUUID, self.source) = (notificationUUID, source)
    (self.environment, self.bundleId) = (environment, bundleId)
    (self.notificationType, self.subtype) = (notificationType, subtype)
    self.originalTransactionId = originalTransactionId
    (self.signedDate, self.receivedAt) = (signedDate, receivedAt)
  }
}

extension EventEnvelope {
  /// The name of the first column that another envelope has otherwise, byte by byte; nil if both
  /// have the same. Our time is not compared.
  public func columnDiffering(from other: EventEnvelope) -> String? {
    if notificationUUID != other.notificationUUID { return "notification_uuid" }
    if source != other.source { return "source" }
    if environment != other.environment { return "environment" }
    if !ByteSearch.areEqual(bundleId, other.bundleId) { return "bundle_id" }
    if !ByteSearch.areEqual(notificationType, other.notificationType) {
      return "notification_type"
    }
    if !ByteSearch.areEqual(subtype, other.subtype) { return "subtype" }
    if !ByteSearch.areEqual(originalTransactionId, other.originalTransactionId) {
      return "original_transaction_id"
    }
    return signedDate == other.signedDate ? nil : "signed_date_ms"
  }
}

/// An event with its envelope, on one of its ways.
public protocol Enveloped: StreamEvent {
  var envelope: EventEnvelope { get }
}

extension Enveloped {
  public var notificationUUID: NotificationUUID { envelope.notificationUUID }
  public var source: EventSource { envelope.source }
  public var environment: Environment { envelope.environment }
  public var bundleId: String { envelope.bundleId }
  public var notificationType: String { envelope.notificationType }
  public var subtype: String? { envelope.subtype }
  public var originalTransactionId: String? { envelope.originalTransactionId }
  public var signedDate: Int64 { envelope.signedDate }
  public var receivedAt: Int64 { envelope.receivedAt }
}
