import AppStore

/// Derives the values of a row at a given time, each by its own rule. `move(to:)` sets the time.
struct StatusEvaluator {
  private let periods: Periods
  private let renewal: RenewalInForce
  private let graces: [StreamState.Grace]
  private let isSandbox: Bool
  private var time: Int64 = .min
  /// Index of the period that covers the time.
  private var coveringPeriod: Int?
  /// Index of the period that answers where none covers the time.
  private var newest: Int?
  private var hasGap = false
  private var paidThrough: Int64?

  /// Before `move(to:)` is called, the values have no meaning.
  ///
  /// - Parameters:
  ///   - periods: those of `state`.
  ///   - renewal: that of `state`.
  init(_ state: StreamState, _ periods: Periods, _ renewal: RenewalInForce) {
    self.periods = periods
    self.renewal = renewal
    isSandbox = state.isSandbox
    guard !state.graces.isEmpty else {
      graces = []
      return
    }
    let ended = Set(periods.all.filter { $0.end == $0.expires }.map(\.end))
    graces = state.graces.filter { ended.contains($0.periodEnd) }
  }

  /// Derives everything that several rules need, at a time in milliseconds since 1970.
  mutating func move(to time: Int64) {
    self.time = time
    coveringPeriod = periods.coveringPeriod(at: time)
    paidThrough = coveringPeriod.map(periods.paidThrough)
    newest = periods.newest(at: time)
    if let since = renewal.undeliveredSince, since <= time {
      (coveringPeriod, paidThrough, hasGap) = (nil, nil, true)
      return
    }
    // What was never delivered follows the newest period of all.
    let isNow = periods.headPeriod.map { $0.start <= paidThrough ?? time } ?? false
    hasGap = isNow && renewal.undelivered.map { $0 > paidThrough ?? .min } ?? false
  }

  /// Every time at which an answer may change: each rule below compares the time to one of these,
  /// and all ends are exclusive. Sorted and distinct; the first is `Int64.min`.
  ///
  /// - Parameter range: leaves out those outside it, and begins with its first time; nil for all.
  func breakpoints(in range: ClosedRange<Int64>? = nil) -> [Int64] {
    if let range, range.lowerBound == range.upperBound { return [range.lowerBound] }
    var times = [range?.lowerBound ?? .min]
    for (period, early) in zip(periods.all, periods.early) {
      times.append(period.start)
      // One that never ends has the greatest time.
      if period.end < .max { times.append(period.end) }
      if let revocation = period.revocation { times.append(revocation) }
      if !early.isEmpty { times.append(early.lowerBound) }
    }
    times += [
      renewal.undelivered, renewal.undeliveredSince, renewal.periodEnd,
      renewal.info?.gracePeriodExpiresDate,
      shortestGraceEnd, retryEnd,
    ].compactMap { $0 }
    for grace in graces { times += [grace.periodEnd, grace.until] }
    if let range { times.removeAll { !range.contains($0) } }
    times.sort()
    var last: Int64?
    return times.filter { time in
      defer { last = time }
      return time != last
    }
  }

  /// The answer from this time on; its `purchase` is an index in the registers.
  func span(by fold: Fold) -> EntitlementRow.Span {
    let (status, shown) = (fold.status(of: rule), coveringPeriod ?? newest)
    let isConsumable =
      shown.map { periods.registers[$0].held.transaction.type == ProductType.consumable } ?? false
    return EntitlementRow.Span(
      from: time, status: status, givesAccess: fold.givesAccess(status) && !isConsumable,
      purchase: shown, productId: productId, expiresAt: expiresAt, hasGap: hasGap,
      seats: shown.flatMap { periods.seats(of: $0, at: time) })
  }

  private var productId: String? {
    let info = renewal.info
    guard let shown = coveringPeriod ?? newest else { return info?.productId }
    let ofGap = hasGap && coveringPeriod == nil ? info?.productId ?? info?.autoRenewProductId : nil
    return ofGap ?? periods.registers[shown].transaction.productId
  }

  private var expiresAt: Int64? {
    if hasGap { return renewal.undelivered }
    if let paidThrough { return paidThrough == .max ? nil : paidThrough }
    return newest.flatMap { periods.all[$0].expires }
  }

  /// The first rule that matches decides.
  var rule: StatusRule {
    guard let newest = newest.map({ periods.all[$0] }) else { return .noTransaction }
    guard let expires = newest.expires else {
      if let since = periods.earliestRevocation, since <= time { return .revoked(since: since) }
      return .oneTime
    }
    if coveringPeriod != nil { return .covered }
    if hasGap, let end = renewal.undelivered, time < end {
      return .paidWithoutTransaction(through: end)
    }
    if !hasGap, let since = newest.revocation, since <= time { return .revoked(since: since) }
    if let failed = failedCharge { return failed }
    if isPast, let grace = graces.first(where: isRunning) {
      return .earlierGrace(until: grace.until)
    }
    if hasGap, let end = renewal.undelivered { return .paidWithoutTransactionOver(since: end) }
    return .over(since: expires)
  }

  /// What follows from a charge that failed, once the period is over that was to be renewed.
  private var failedCharge: StatusRule? {
    guard let info = renewal.info, !isPast || renewal.periodEnd ?? .max <= time,
      let retryEnd
    else { return nil }
    if let end = info.gracePeriodExpiresDate, time < end, isInGrace {
      return .grace(until: end)
    }
    let shortest = shortestGraceEnd
    if let shortest, time < shortest { return .shortestGrace(until: shortest) }
    let isRetried = info.isInBillingRetryPeriod == true || shortest != nil
    return isRetried && time < retryEnd ? .retry(until: retryEnd) : nil
  }

  /// Whether the newest status says that there is a grace period: the date alone may be stale, and
  /// a cancellation ends the grace period early. If no status was ever sent (V1, and V2 before June
  /// 2023), a failed charge is taken as the sign instead.
  private var isInGrace: Bool {
    guard let info = renewal.info, info.autoRenewStatus != 0 else { return false }
    return renewal.isGracePeriod
      || renewal.status == nil
        && (info.isInBillingRetryPeriod == true || info.expirationIntent == 2)
  }

  /// Apple's shortest grace period: three days.
  private static let shortestGrace: Int64 = 3 * Periods.day

  /// When a grace period without a date ends: nobody knows it, so the shortest that Apple offers
  /// counts. Nil if there is none, or if the failure is not that of the newest period: Apple tells
  /// it at most a day before the end. Seen in production, at the first renewal after a trial. In
  /// the sandbox and with monthly payments, grace periods are shorter.
  private var shortestGraceEnd: Int64? {
    guard renewal.isGracePeriod, let info = renewal.info, info.gracePeriodExpiresDate == nil,
      info.autoRenewStatus != 0, !isSandbox, !isPaidMonthly, let end = failedEnd,
      let told = renewal.statusDate, told.advanced(orBoundBy: Periods.day) >= end
    else { return nil }
    return end.advanced(orBoundBy: Self.shortestGrace)
  }

  /// Whether the newest period of all had not begun.
  private var isPast: Bool { periods.headPeriod.map { time < $0.start } ?? false }

  /// Whether a grace period of a period before the newest runs.
  private func isRunning(_ grace: StreamState.Grace) -> Bool {
    grace.periodEnd <= time && time < grace.until
  }

  /// The customer agreed to twelve monthly payments.
  private var isPaidMonthly: Bool { periods.headTransaction?.billingPlanType == "MONTHLY" }

  /// When Apple stops retrying a charge: after 60 days, or after 90 of monthly payments.
  private var retryEnd: Int64? {
    failedEnd?.advanced(orBoundBy: (isPaidMonthly ? 90 : 60) * Periods.day)
  }

  /// When the period ended that was to be renewed: Apple may have extended it by renewalDate alone.
  private var failedEnd: Int64? {
    periods.headPeriod?.expires.map { max($0, renewal.periodEnd ?? $0) }
  }
}
