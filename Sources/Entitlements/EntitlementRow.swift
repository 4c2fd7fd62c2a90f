public import AppStore

/// The entitlement of one stream at every time: a row of a projection.
///
/// An answer changes only at known times, so a row is a list of spans with one answer each. Reading
/// a row looks a time up in it and evaluates no rule of the fold. A row that another version of the
/// fold made therefore keeps that version's answers until a new projection is made live.
///
/// Configuration is not part of the fold: how long a non-renewing product lasts is applied when a
/// row is read.
public struct EntitlementRow: Sendable, Equatable {
  /// One answer, from a time until the next span begins.
  public struct Span: Sendable, Equatable {
    /// Milliseconds since 1970; `Int64.min` for the first span.
    public var from: Int64
    public var status: Entitlement.Status
    /// Index in `transactions` of the one that covers the span, else of the newest.
    public var transaction: Int?
    public var productId: String?
    public var expiresAt: Int64?
    /// The next renewal is for another product.
    public var isPending: Bool
    /// At least one paid period was never delivered.
    public var hasGap: Bool
  }

  /// How many events of the stream were folded.
  public internal(set) var eventCount: Int64 = 0
  public internal(set) var lastEvent: StreamState.LastEvent?
  public internal(set) var renewal: RenewalInfo?
  /// Sorted by purchase date, then by register key, then by transaction id.
  public internal(set) var transactions: [Transaction] = []
  /// Index in `transactions` of the newest that counts.
  public internal(set) var head: Int?
  /// From when the newest transaction is revoked, milliseconds since 1970.
  public internal(set) var revokedAt: Int64?
  /// The original transaction id that this stream replaced (MIGRATION), by the newest transaction
  /// that names one.
  public internal(set) var previousOriginalTransactionId: String?
  /// In ascending order of time; empty if no event carried a transaction or a renewal.
  public internal(set) var spans: [Span] = []

  init() {}

  /// The row of a stream.
  public init(_ state: StreamState) { self.init(state, Periods(state)) }

  /// - Parameters:
  ///   - periods: those of `state`.
  ///   - time: makes the row valid at this time alone, at less cost; nil for all times.
  init(_ state: StreamState, _ periods: Periods, only time: Int64? = nil) {
    eventCount = state.eventCount
    lastEvent = state.lastEvent
    renewal = state.renewal?.renewal
    previousOriginalTransactionId = state.previousOriginalTransactionId
    transactions = periods.registers.map(\.transaction)
    head = periods.head
    revokedAt = periods.revokedAt
    guard !state.isEmpty else { return }
    var evaluator = StatusEvaluator(periods, renewal, code: state.status?.status)
    for time in time.map({ [$0] }) ?? StatusEvaluator.breakpoints(periods, renewal) {
      evaluator.move(to: time)
      let span = evaluator.span
      if let last = spans.last, last.isSameAnswer(as: span) { continue }
      spans.append(span)
    }
  }

  /// The answer at a time; nil if no event carried a transaction or a renewal.
  ///
  /// - Parameters:
  ///   - time: milliseconds since 1970.
  ///   - durations: milliseconds that non-renewing products last, by product id.
  public func entitlement(at time: Int64, durations: [String: Int64] = [:]) -> Entitlement? {
    guard let span = span(at: time) else { return nil }
    let lasting = lasting(durations)
    let isOver = span.status == .active && lasting.map { $0 <= time } ?? false
    let autoRenew = renewal?.autoRenewStatus.map { $0 == 1 }
    return Entitlement(
      asOf: time, status: isOver ? .expired : span.status,
      transaction: span.transaction.map { transactions[$0] }, productId: span.productId,
      expiresAt: lasting ?? span.expiresAt,
      gracePeriodExpiresAt: renewal?.gracePeriodExpiresDate, revokedAt: revokedAt,
      autoRenew: autoRenew,
      pendingProductId: span.isPending ? renewal?.autoRenewProductId : nil, hasGap: span.hasGap,
      renewal: renewal)
  }

  private func span(at time: Int64) -> Span? {
    var low = 0
    var high = spans.count
    while low < high {
      let middle = (low + high) / 2
      if spans[middle].from <= time { low = middle + 1 } else { high = middle }
    }
    return low > 0 ? spans[low - 1] : nil
  }

  /// When a non-renewing subscription ends by its product's configured duration; nil if none is
  /// configured. V1 does not give the product type; there a configured duration implies it.
  private func lasting(_ durations: [String: Int64]) -> Int64? {
    guard !durations.isEmpty, let head, transactions[head].expiresDate == nil,
      transactions[head].type ?? "Non-Renewing Subscription" == "Non-Renewing Subscription",
      let product = transactions[head].productId, let duration = durations[product]
    else { return nil }
    return transactions[head].purchaseDate.advanced(orBoundBy: duration)
  }
}

extension EntitlementRow.Span {
  func isSameAnswer(as other: Self) -> Bool {
    var same = other
    same.from = from
    return same == self && same.hasSameProduct(as: self)
  }

  /// Compares bytes: `String` calls two encodings of one accented letter equal.
  private func hasSameProduct(as other: Self) -> Bool {
    guard let one = productId, let two = other.productId else { return true }
    return one.utf8.elementsEqual(two.utf8)
  }
}
