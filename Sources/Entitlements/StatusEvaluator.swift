import AppStore

/// Derives the values of a row at a given time, each by its own rule. `move(to:)` sets the time.
struct StatusEvaluator {
  private let periods: Periods
  private let renewal: RenewalInfo?
  /// Apple's newest `data.status`, 1 to 5.
  private let code: Int64?
  private var time: Int64 = .min
  /// Index of the period that covers the time.
  private var coveringPeriod: Int?
  private var hasGap = false
  private var paidThrough: Int64?

  /// Before `move(to:)` is called, the values have no meaning.
  init(_ periods: Periods, _ renewal: RenewalInfo?, code: Int64?) {
    self.periods = periods
    self.renewal = renewal
    self.code = code
  }

  /// Derives everything that several rules need, at a time in milliseconds since 1970.
  mutating func move(to time: Int64) {
    self.time = time
    coveringPeriod = periods.coveringPeriod(at: time)
    paidThrough = coveringPeriod.map(periods.paidThrough)
    if let expires = periods.headPeriod?.expires, code == 1,
      let date = renewal?.renewalDate
    {
      hasGap = date > paidThrough ?? expires
    } else {
      hasGap = false
    }
  }

  /// Every time at which an answer may change: each rule below compares the time to one of these,
  /// and all ends are exclusive. Sorted and distinct; the first is `Int64.min`.
  ///
  /// - Parameter range: leaves out those outside it, and begins with its first time; nil for all.
  static func breakpoints(
    _ periods: Periods, _ renewal: RenewalInfo?, in range: ClosedRange<Int64>? = nil
  ) -> [Int64] {
    if let range, range.lowerBound == range.upperBound { return [range.lowerBound] }
    var times = [range?.lowerBound ?? .min]
    let first = periods.all.first?.start ?? .min
    for period in periods.all {
      times.append(period.start)
      // One that never ends has the greatest time.
      if period.end < .max { times.append(period.end) }
      if let revocation = period.revocation { times.append(revocation) }
      let early = period.start.advanced(orBoundBy: -Periods.day)
      if early < first { times.append(early) }
    }
    if let date = renewal?.renewalDate { times.append(date) }
    if let date = renewal?.gracePeriodExpiresDate { times.append(date) }
    if let end = retryEnd(periods) { times.append(end) }
    if let range { times.removeAll { !range.contains($0) } }
    times.sort()
    var last: Int64?
    return times.filter { time in
      defer { last = time }
      return time != last
    }
  }

  /// The answer from this time on; its `purchase` is an index in the registers.
  var span: EntitlementRow.Span {
    let (status, shown) = (rule.status, coveringPeriod ?? periods.head)
    let isConsumable =
      shown.map { periods.registers[$0].held.transaction.type == "Consumable" } ?? false
    return EntitlementRow.Span(
      from: time, status: status, givesAccess: status.givesAccess && !isConsumable, purchase: shown,
      productId: productId, expiresAt: expiresAt, hasGap: hasGap)
  }

  private var productId: String? {
    if hasGap, coveringPeriod == nil { return renewal?.productId ?? renewal?.autoRenewProductId }
    guard let shown = coveringPeriod ?? periods.head else { return renewal?.productId }
    return periods.registers[shown].transaction.productId
  }

  private var expiresAt: Int64? {
    if hasGap { return renewal?.renewalDate }
    if let paidThrough { return paidThrough == .max ? nil : paidThrough }
    return periods.headPeriod?.expires
  }

  /// The first rule that matches decides.
  var rule: StatusRule {
    guard let head = periods.headPeriod else { return .noTransaction }
    guard let expires = head.expires else {
      if let since = periods.revokedAt, since <= time { return .revoked(since: since) }
      return .oneTime
    }
    if coveringPeriod != nil { return .covered }
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

  /// When the running grace period ends; nil if there is none.
  ///
  /// The newest status must say that there is one: the date alone may be stale, and a cancellation
  /// ends the grace period early. If no status was ever sent (V1, and V2 before June 2023), a
  /// failed charge is taken as the sign instead.
  private var graceEnd: Int64? {
    guard let renewal, let end = renewal.gracePeriodExpiresDate, time < end,
      renewal.autoRenewStatus != 0
    else { return nil }
    let isInGrace =
      code.map { $0 == 4 }
      ?? (renewal.isInBillingRetryPeriod == true || renewal.expirationIntent == 2)
    return isInGrace ? end : nil
  }

  /// When Apple stops retrying a charge: after 60 days, or after 90 if the customer agreed to
  /// twelve monthly payments.
  private static func retryEnd(_ periods: Periods) -> Int64? {
    guard let head = periods.head else { return nil }
    let isMonthly = periods.registers[head].transaction.billingPlanType == "MONTHLY"
    return periods.all[head].expires?.advanced(orBoundBy: (isMonthly ? 90 : 60) * Periods.day)
  }
}
