public import AppStore

/// What a customer may use at one moment: a row, looked up at a time.
///
/// A pure function of the registers and the time (promise 8): silence never grants access. All ends
/// are exclusive: access while `time < end`. Times are milliseconds since 1970.
public struct Entitlement: Sendable, Equatable {
  public enum Status: String, Sendable, CaseIterable {
    case active
    case gracePeriod = "grace_period"
    case billingRetry = "billing_retry"
    case expired
    case revoked

    public var givesAccess: Bool { self == .active || self == .gracePeriod }
  }

  public let asOf: Int64
  public let status: Status
  /// Of the period that covers the time, else of the newest one; nil where only a renewal is known.
  public let transaction: Transaction?
  public let productId: String?
  public let expiresAt: Int64?
  public let gracePeriodExpiresAt: Int64?
  public let revokedAt: Int64?
  public let autoRenew: Bool?
  public let pendingProductId: String?
  /// At least one paid period was never delivered: Apple says the subscription runs longer.
  public let hasGap: Bool
  public let renewal: RenewalInfo?

  public var givesAccess: Bool { status.givesAccess }
}

extension Entitlement {
  /// Evaluates a stream at `time`; nil where no event of it told of a transaction or a renewal.
  ///
  /// - Parameter durations: milliseconds that non-renewing products last, by product id.
  public init?(_ state: StreamState, at time: Int64, durations: [String: Int64] = [:]) {
    let row = EntitlementRow(state, Periods(state), only: time)
    guard let answer = row.entitlement(at: time, durations: durations) else { return nil }
    self = answer
  }
}
