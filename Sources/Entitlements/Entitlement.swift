public import AppStore

/// What a customer may use at one moment: the row, evaluated.
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

  /// Evaluates a stream at `time`; nil where no event of it told of a transaction or a renewal.
  ///
  /// - Parameter durations: milliseconds that non-renewing products last, by product id.
  public init?(_ state: StreamState, at time: Int64, durations: [String: Int64] = [:]) {
    guard !state.isEmpty else { return nil }
    let moment = Moment(state, at: time, durations: durations)
    asOf = time
    status = moment.status
    renewal = moment.renewal
    transaction = (moment.cover ?? moment.head)?.transaction
    expiresAt = moment.expiresAt
    hasGap = moment.hasGap
    gracePeriodExpiresAt = moment.renewal?.gracePeriodExpiresDate
    revokedAt = moment.revokedAt
    autoRenew = moment.renewal?.autoRenewStatus.map { $0 == 1 }
    productId = moment.productId
    let next = moment.renewal?.autoRenewProductId
    pendingProductId = autoRenew == true && next != productId ? next : nil
  }
}

/// The derived values at one clock, each by its own rule.
private struct Moment {
  let time: Int64
  let periods: Periods
  let head: Periods.Period?
  let cover: Periods.Period?
  let renewal: RenewalInfo?
  let code: Int64?
  let hasGap: Bool
  let durations: [String: Int64]
  private let paidThrough: Int64?

  init(_ state: StreamState, at time: Int64, durations: [String: Int64]) {
    self.time = time
    self.durations = durations
    periods = Periods(state)
    head = periods.head
    cover = periods.covering(time)
    renewal = state.renewal?.renewal
    code = state.status?.status
    paidThrough = cover.map(periods.paidThrough)
    if let expires = head?.transaction.expiresDate, code == 1, let date = renewal?.renewalDate {
      hasGap = date > paidThrough ?? expires
    } else {
      hasGap = false
    }
  }

  var productId: String? {
    if hasGap, cover == nil { return renewal?.productId ?? renewal?.autoRenewProductId }
    let transaction = (cover ?? head)?.transaction
    return transaction == nil ? renewal?.productId : transaction?.productId
  }

  var expiresAt: Int64? {
    if hasGap { return renewal?.renewalDate }
    if let end = oneTimeEnd { return end }
    if let paidThrough { return paidThrough == .max ? nil : paidThrough }
    return head?.transaction.expiresDate
  }

  /// A non-renewing subscription lasts as long as its product is configured to; without that it
  /// does not end. V1 does not name the type: there the configured product says it.
  private var oneTimeEnd: Int64? {
    guard let transaction = head?.transaction, transaction.expiresDate == nil,
      transaction.type ?? "Non-Renewing Subscription" == "Non-Renewing Subscription",
      let product = transaction.productId,
      let duration = durations[product]
    else { return nil }
    return transaction.purchaseDate.advanced(orBoundBy: duration)
  }

  var revokedAt: Int64? {
    guard let head else { return nil }
    guard head.transaction.expiresDate == nil else { return head.revocation }
    return periods.all.compactMap(\.revocation).min()
  }

  var status: Entitlement.Status {
    guard let head else { return .expired }
    guard let expires = head.transaction.expiresDate else { return oneTimeStatus }
    if cover != nil { return .active }
    if hasGap { return (renewal?.renewalDate ?? .min) > time ? .active : .expired }
    if let revocation = head.revocation, revocation <= time { return .revoked }
    if isInGrace { return .gracePeriod }
    if renewal?.isInBillingRetryPeriod == true, time < expires.advanced(orBoundBy: retryBound(head))
    {
      return .billingRetry
    }
    return .expired
  }

  private var oneTimeStatus: Entitlement.Status {
    if let revokedAt, revokedAt <= time { return .revoked }
    if let oneTimeEnd, oneTimeEnd <= time { return .expired }
    return .active
  }

  /// Needs the newest status to say so, as a stale date may outlive the grace (and a cancel ends
  /// it); where no status was ever sent (V1, V2 before June 2023) a failed charge says it instead.
  private var isInGrace: Bool {
    guard let renewal, let end = renewal.gracePeriodExpiresDate, time < end,
      renewal.autoRenewStatus != 0
    else { return false }
    if let code { return code == 4 }
    return renewal.isInBillingRetryPeriod == true || renewal.expirationIntent == 2
  }

  /// Apple retries a charge for 60 days, for 90 where twelve monthly payments were agreed.
  private func retryBound(_ head: Periods.Period) -> Int64 {
    (head.transaction.billingPlanType == "MONTHLY" ? 90 : 60) * Periods.day
  }
}
