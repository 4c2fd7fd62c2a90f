import AppStore

/// The derived values at one clock, each by its own rule.
struct StatusEvaluator {
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
      from: time, status: rule.status, transaction: cover ?? periods.head, productId: product,
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

  /// The first that matches decides.
  var rule: StatusRule {
    guard let head = periods.headPeriod else { return .noTransaction }
    guard let expires = head.expires else {
      if let since = periods.revokedAt, since <= time { return .revoked(since: since) }
      return .oneTime
    }
    if cover != nil { return .covered }
    if hasGap, let date = renewal?.renewalDate {
      return date > time
        ? .paidWithoutTransaction(through: date) : .paidWithoutTransactionOver(since: date)
    }
    if let since = head.revocation, since <= time { return .revoked(since: since) }
    if let end = graceEnd { return .grace(until: end) }
    if renewal?.isInBillingRetryPeriod == true, let end = Self.retryEnd(periods), time < end {
      return .retry(until: end)
    }
    return .over(since: expires)
  }

  /// Needs the newest status to say so, as a stale date may outlive the grace (and a cancel ends
  /// it); where no status was ever sent (V1, V2 before June 2023) a failed charge says it instead.
  private var graceEnd: Int64? {
    guard let renewal, let end = renewal.gracePeriodExpiresDate, time < end,
      renewal.autoRenewStatus != 0
    else { return nil }
    let isInGrace =
      code.map { $0 == 4 }
      ?? (renewal.isInBillingRetryPeriod == true || renewal.expirationIntent == 2)
    return isInGrace ? end : nil
  }

  /// Apple retries a charge for 60 days, for 90 where twelve monthly payments were agreed.
  private static func retryEnd(_ periods: Periods) -> Int64? {
    guard let head = periods.head else { return nil }
    let isMonthly = periods.registers[head].transaction.billingPlanType == "MONTHLY"
    return periods.all[head].expires?.advanced(orBoundBy: (isMonthly ? 90 : 60) * Periods.day)
  }
}
