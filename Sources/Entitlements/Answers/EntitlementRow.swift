import AppStore
import Platform

/// The entitlement of one stream at every time: a row of a projection.
///
/// An answer changes only at known times, so a row is a list of spans with one answer each. Reading
/// a row looks a time up in it and evaluates no rule of the fold. A row that another version of the
/// fold made therefore keeps that version's answers.
///
/// Configuration is not part of the fold: how long a non-renewing product lasts is applied when a
/// row is read. The fields that are shown of it are in `RowFields`.
public struct EntitlementRow: Sendable, Equatable {
  /// One answer, from a time until the next span begins.
  public struct Span: Sendable, Equatable {
    /// Milliseconds since 1970; `Int64.min` for the first span.
    public var from: Int64
    public var status: Entitlement.Status
    /// Whether the customer may use the product.
    public var givesAccess: Bool
    /// Index in `purchases` of the transaction that covers the span, else of the newest.
    public var purchase: Int?
    public var productId: String?
    public var expiresAt: Int64?
    /// At least one paid period was never delivered.
    public var hasGap: Bool
    /// The seats that are paid for and not refunded; nil of a purchase without seats.
    public var seats: Int64?

    public init(
      from: Int64, status: Entitlement.Status, givesAccess: Bool, purchase: Int?,
      productId: String?, expiresAt: Int64?, hasGap: Bool, seats: Int64? = nil
    ) {
      self.from = from
      self.status = status
      self.givesAccess = givesAccess
      self.purchase = purchase
      self.productId = productId
      self.expiresAt = expiresAt
      self.hasGap = hasGap
      self.seats = seats
    }
  }

  /// What the customer answered to a price increase. The raw value is Apple's priceIncreaseStatus.
  public enum PriceIncrease: Int64, Sendable {
    case pending = 0
    case accepted = 1
  }

  /// What ends by a duration that the owner says: the newest transaction, of a product that does
  /// not renew.
  public struct Lasting: Sendable, Equatable {
    public var productId: String
    /// The purchase date, milliseconds since 1970.
    public var from: Int64

    public init(productId: String, from: Int64) {
      self.productId = productId
      self.from = from
    }
  }

  /// How many events of the stream were folded.
  public var eventCount: Int64 = 0
  public var lastEvent: StreamState.LastEvent?
  public var autoRenew: Bool?
  /// The product of the next renewal, by the renewal information.
  public var renewalProductId: String?
  /// The product that the renewal is from, where that is not the one of the span: the renewal
  /// information is about another period than the newest. Nothing is pending if it is the same.
  public var renewedProductId: String?
  public var gracePeriodExpiresAt: Int64?
  public var priceIncrease: PriceIncrease?
  public var commitmentAutoRenew: Bool?
  public var renewalTerms = RenewalTerms()
  /// From when the newest transaction is revoked, or before that begins, the one before it;
  /// milliseconds since 1970.
  public var revokedAt: Int64?
  public var lasting: Lasting?
  /// A transaction has a date, a price or a quantity that no purchase has. It gives no access by
  /// that.
  public var hasAnomaly = false
  /// Those that spans refer to, in the order of their first span.
  public var purchases: [Purchase] = []
  /// In ascending order of time; empty if no event carried a transaction or a renewal.
  public var spans: [Span] = []

  public init() {}

  /// The row of a stream.
  ///
  /// - Parameter times: makes the row valid at these times alone, milliseconds since 1970, at less
  ///   cost; nil for all times.
  public init(
    _ state: StreamState, by fold: Fold, at times: ClosedRange<Int64>? = nil
  ) {
    self.init(state, Periods(state), by: fold, at: times)
  }

  /// - Parameters:
  ///   - periods: those of `state`.
  ///   - times: makes the row valid at these times alone, at less cost; nil for all times.
  init(
    _ state: StreamState, _ periods: Periods, by fold: Fold, at times: ClosedRange<Int64>? = nil
  ) {
    let inForce = RenewalInForce(state, periods)
    let renewal = inForce.info
    eventCount = state.eventCount
    lastEvent = state.lastEvent
    autoRenew = renewal?.autoRenewStatus.map { $0 == 1 }
    renewalProductId = renewal?.autoRenewProductId
    renewedProductId = inForce.renewedProductId(periods)
    gracePeriodExpiresAt = renewal?.gracePeriodExpiresDate
    priceIncrease = renewal?.priceIncreaseStatus.flatMap(PriceIncrease.init)
    commitmentAutoRenew = renewal?.commitmentAutoRenewStatus.map { $0 == 1 }
    renewalTerms = renewal.map(RenewalTerms.init) ?? RenewalTerms()
    revokedAt = periods.revokedAt
    hasAnomaly = periods.registers.contains { $0.held.isAnomalous }
    lasting = periods.headTransaction.flatMap { Lasting($0) }
    guard !state.isEmpty else { return }
    var evaluator = StatusEvaluator(state, periods, inForce)
    var known = [Int?](repeating: nil, count: periods.registers.count)
    for time in evaluator.breakpoints(in: times) {
      evaluator.move(to: time)
      var span = evaluator.span(by: fold)
      if let index = span.purchase {
        if known[index] == nil {
          known[index] = purchases.count
          purchases.append(Purchase(periods.registers[index]))
        }
        span.purchase = known[index]
      }
      if let last = spans.last, last.isSameAnswer(as: span) { continue }
      spans.append(span)
    }
  }

  // MARK: Answers

  /// The answer at a time; nil if no event carried a transaction or a renewal.
  ///
  /// - Parameters:
  ///   - time: milliseconds since 1970.
  ///   - durations: those of the app.
  public func entitlement(at time: Int64, durations: Durations = [:]) -> Entitlement? {
    guard let index = spanIndex(at: time) else { return nil }
    let span = spans[index]
    let end = lastingEnd(durations, at: time)
    let status = status(of: span, at: time, end)
    return Entitlement(
      asOf: time, status: status, givesAccess: span.givesAccess && status == span.status,
      purchase: span.purchase.map { purchases[$0] }, productId: span.productId,
      expiresAt: end ?? span.expiresAt, gracePeriodExpiresAt: gracePeriodExpiresAt,
      revokedAt: revokedAt(in: span, at: time), autoRenew: autoRenew,
      pendingProductId: pendingProductId(in: span),
      hasGap: span.hasGap, priceIncrease: priceIncrease, commitmentAutoRenew: commitmentAutoRenew,
      renewalTerms: renewalTerms, seats: span.seats, hasAnomaly: hasAnomaly)
  }

  /// The answer at every time: each from its `asOf`, of which the first is `Int64.min`, until the
  /// next.
  ///
  /// - Parameter durations: those of the app.
  public func answers(durations: Durations) -> [Entitlement] {
    let times = Set(spans.map(\.from) + lastingTurns(durations))
    return times.sorted().compactMap { entitlement(at: $0, durations: durations) }
  }

  /// The answers whose status, access or product differ from the answer before: what the passing of
  /// time alone changes.
  ///
  /// - Parameters:
  ///   - time: those after it, through `end`; milliseconds since 1970.
  ///   - durations: those of the app.
  public func transitions(
    after time: Int64, through end: Int64 = .max, durations: Durations
  ) -> [Entitlement] {
    let times = Set(spans.map(\.from) + lastingTurns(durations))
      .filter { time < $0 && $0 <= end }.sorted()
    guard !times.isEmpty, var last = entitlement(at: time, durations: durations) else { return [] }
    return times.compactMap { at in
      guard let then = entitlement(at: at, durations: durations),
        then.status != last.status || then.givesAccess != last.givesAccess
          || !ByteSearch.areEqual(then.productId, last.productId)
      else { return nil }
      last = then
      return then
    }
  }

  /// The status and the span that answer at a time, and the time in which they do: from the first,
  /// until the second, exclusive; nil: for ever.
  public func current(
    at time: Int64, durations: Durations
  ) -> (
    status: Entitlement.Status, givesAccess: Bool, span: Int, from: Int64, until: Int64?
  )? {
    guard let index = spanIndex(at: time) else { return nil }
    let span = spans[index]
    var from = span.from
    var until = index + 1 < spans.count ? spans[index + 1].from : nil
    if span.status == .active {
      for turn in lastingTurns(durations) {
        if turn <= time { from = max(from, turn) } else { until = min(until ?? turn, turn) }
      }
    }
    let status = status(of: span, at: time, lastingEnd(durations, at: time))
    return (status, span.givesAccess && status == span.status, index, from, until)
  }

  /// When the billing period that covers a time ends, where `expiresAt` is the end of all that is
  /// paid for; when the last one ended if none covers it. Nil if the product does not expire.
  ///
  /// A row that was read with `WantedSpans.at` does not know it.
  public func periodEnd(at time: Int64, durations: Durations = [:]) -> Int64? {
    guard let index = spanIndex(at: time) else { return nil }
    let span = spans[index]
    guard span.status == .active, span.expiresAt != nil else {
      return lastingEnd(durations, at: time) ?? span.expiresAt
    }
    let end = spans[index...].first { $0.status != .active || $0.purchase != span.purchase }?.from
    // Paid time that Apple reports without its transaction belongs to the period before it.
    return end ?? span.expiresAt
  }

  /// Another one than the span's where a duration is over: that gives no access.
  private func status(of span: Span, at time: Int64, _ end: Int64?) -> Entitlement.Status {
    span.status == .active && end.map { $0 <= time } ?? false ? .expired : span.status
  }

  /// A period that was refunded says nothing of the next one, once that has begun.
  private func revokedAt(in span: Span, at time: Int64) -> Int64? {
    revokedAt.flatMap { span.status == .revoked || span.hasGap || time < $0 ? $0 : nil }
  }

  private func spanIndex(at time: Int64) -> Int? {
    let begun = spans.partitionPoint { $0.from <= time }
    return begun > 0 ? begun - 1 : nil
  }

  /// The product of the next renewal, if it is another one. Compares bytes.
  private func pendingProductId(in span: Span) -> String? {
    guard autoRenew == true, let next = renewalProductId else { return nil }
    let renewed = renewedProductId ?? span.productId
    return ByteSearch.areEqual(renewed, next) ? nil : next
  }

  /// When a non-renewing subscription ends by the duration that counts at a time; nil if its
  /// product has none.
  func lastingEnd(_ durations: Durations, at time: Int64) -> Int64? {
    guard !durations.isEmpty, let lasting,
      let duration = durations.duration(of: lasting.productId, at: time)
    else { return nil }
    return lasting.from.advanced(orBoundBy: duration.milliseconds)
  }

  /// The times at which a duration began to count, or ends the row, in no order.
  func lastingTurns(_ durations: Durations) -> [Int64] {
    guard !durations.isEmpty, let lasting, let said = durations.products[exactly: lasting.productId]
    else { return [] }
    return said.indices.flatMap { index in
      let (word, next) = (said[index], index + 1 < said.count ? said[index + 1].from : .max)
      let end = word.duration.map { lasting.from.advanced(orBoundBy: $0.milliseconds) }
      return (index > 0 ? [word.from] : [])
        + (end.map { word.from < $0 && $0 < next ? [$0] : [] } ?? [])
    }
  }
}

extension EntitlementRow.Lasting {
  /// Nil if no duration applies. V1 does not give the product type; there a
  /// duration implies it.
  fileprivate init?(_ transaction: Transaction) {
    guard transaction.expiresDate == nil, let product = transaction.productId,
      transaction.type ?? ProductType.nonRenewing == ProductType.nonRenewing
    else { return nil }
    self.init(productId: product, from: transaction.purchaseDate)
  }
}

extension RenewalInForce {
  /// What `EntitlementRow.renewedProductId` says: if it is about a period before the newest, what
  /// was pending then has come; if about a later one, that one's product is renewed.
  fileprivate func renewedProductId(_ periods: Periods) -> String? {
    if undeliveredSince != nil { return info?.productId }
    guard let periodEnd, let expires = periods.headPeriod?.expires else { return nil }
    if periodEnd < expires { return info?.autoRenewProductId }
    return periodEnd > expires ? info?.productId : nil
  }
}

extension EntitlementRow.Span {
  func isSameAnswer(as other: Self) -> Bool {
    status == other.status && givesAccess == other.givesAccess && purchase == other.purchase
      && expiresAt == other.expiresAt && hasGap == other.hasGap && seats == other.seats
      && hasSameProduct(as: other)
  }

  /// Compares bytes: `String` calls two encodings of one accented letter equal.
  private func hasSameProduct(as other: Self) -> Bool {
    ByteSearch.areEqual(productId, other.productId)
  }
}
