public import AppStore

/// The calls of the App Store Server API that are used. The raw value is Apple's name.
public enum Endpoint: String, Sendable, CaseIterable {
  case notificationHistory = "Get Notification History"
  case requestTestNotification = "Request a Test Notification"
  case testNotificationStatus = "Get Test Notification Status"
  case subscriptionStatuses = "Get All Subscription Statuses"
  case transactionHistory = "Get Transaction History"
  case transactionInfo = "Get Transaction Info"
  case appTransactionInfo = "Get App Transaction Info"
  case orderLookup = "Look Up Order ID"
  case sendConsumptionInformation = "Send Consumption Information"

  /// Requests that Apple accepts in an hour, of each app; nil if the environment has no such call.
  /// Source: developer.apple.com/documentation/appstoreserverapi/identifying-rate-limits, which
  /// names numbers a second, enforced by the hour, and a tenth of them for the Sandbox.
  public func hourlyLimit(in environment: Environment) -> Int64? {
    let production: Int64 =
      switch self {
      case .orderLookup: 36_000
      case .requestTestNotification, .testNotificationStatus: 3_600
      default: 180_000
      }
    guard environment != .production else { return production }
    return self == .orderLookup ? nil : production / 10
  }

  /// Whether a repeated call has no further effect. A second test notification is a second one.
  var isIdempotent: Bool { self != .requestTestNotification }
}
