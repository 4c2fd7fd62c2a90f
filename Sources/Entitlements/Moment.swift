import AppStore

/// The derived values at one clock, each by its own rule.
struct Moment {
  private let periods: Periods
  private let renewal: RenewalInfo?
  /// Apple's newest data.status.
  private let code: Int64?
  private var time: Int64 = .min
  private var cover: Int?
  private var hasGap = false
  private var paidThrough: Int64?

  /// No values before `move(to:)` was called.
  init(_ periods: Periods, _ renewal: RenewalInfo?, code: Int64?) {
    self.periods = periods
    self.renewal = renewal
    self.code = code
  }

  mutating func move(to time: Int64) {
    self.time = time
    cover = periods.covering(time)
    paidThrough = cover.map(periods.paidThrough)
    if let expires = periods.headPeriod?.expires, code == 1,
      let date = renewal?.renewalDate
    {
      hasGap = date > paidThrough ?? expires
    } else {
      hasGap = false
    }
  }

  /// Every time at which an answer may change: each rule below compares the clock to one of these,
  /// and all ends are exclusive. Sorted, without repeats; the first is before everything.
  static func turns(_ periods: Periods, _ renewal: RenewalInfo?) -> [Int64] {
    var times: [Int64] = [.min]
    let first = periods.all.first?.start ?? .min
    for period in periods.all {
      times.append(period.start)
      times.append(period.end)
      if let revocation = period.revocation { times.append(revocation) }
      let early = period.start.advanced(orBoundBy: -Periods.day)
      if early < first { times.append(early) }
    }
    if let date = renewal?.renewalDate { times.append(date) }
    if let date = renewal?.gracePeriodExpiresDate { times.append(date) }
    if let end = retryEnd(periods) { times.append(end) }
    times.sort()
    var last: Int64?
    return times.filter { time in
      defer { last = time }
      return time != last
    }
  }

  var span: EntitlementRow.Span {
    let product = productId
    return EntitlementRow.Span(
      from: time, status: status, transaction: cover ?? periods.head, productId: product,
      expiresAt: expiresAt, isPending: isPending(product), hasGap: hasGap)
  }

  private var productId: String? {
    if hasGap, cover == nil { return renewal?.productId ?? renewal?.autoRenewProductId }
    guard let shown = cover ?? periods.head else { return renewal?.productId }
    return periods.registers[shown].transaction.productId
  }

  /// Whether what renews next is another product.
  private func isPending(_ product: String?) -> Bool {
    guard renewal?.autoRenewStatus == 1, let next = renewal?.autoRenewProductId else {
      return false
    }
    return !(product.map { $0.utf8.elementsEqual(next.utf8) } ?? false)
  }

  private var expiresAt: Int64? {
    if hasGap { return renewal?.renewalDate }
    if let paidThrough { return paidThrough == .max ? nil : paidThrough }
    return periods.headPeriod?.expires
  }

  private var status: Entitlement.Status {
    guard let head = periods.headPeriod else { return .expired }
    guard head.expires != nil else {
      return periods.revokedAt.map { $0 <= time } ?? false ? .revoked : .active
    }
    if cover != nil { return .active }
    if hasGap { return (renewal?.renewalDate ?? .min) > time ? .active : .expired }
    if let revocation = head.revocation, revocation <= time { return .revoked }
    if isInGrace { return .gracePeriod }
    if renewal?.isInBillingRetryPeriod == true, let end = Self.retryEnd(periods), time < end {
      return .billingRetry
    }
    return .expired
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
  private static func retryEnd(_ periods: Periods) -> Int64? {
    guard let head = periods.head else { return nil }
    let isMonthly = periods.registers[head].transaction.billingPlanType == "MONTHLY"
    return periods.all[head].expires?.advanced(orBoundBy: (isMonthly ? 90 : 60) * Periods.day)
  }
}
