public import AppStore

/// What the fold says of one customer, for every moment there is: the row of a projection.
///
/// An answer changes only at known times, so a row is a list of spans, each with the one answer it
/// has. Reading is looking a time up: no rule of the fold is asked again, and rows that an older
/// fold made keep saying what that fold said until newer ones are made live.
///
/// What configuration decides is not the fold's: how long a non-renewing product lasts is applied
/// when a row is read.
public struct EntitlementRow: Sendable, Equatable {
  /// One answer, from a time until the next span begins.
  public struct Span: Sendable, Equatable {
    /// Milliseconds since 1970; of the first span `Int64.min`.
    public var from: Int64
    public var status: Entitlement.Status
    /// Place in `transactions` of the one that covers the span, else of the newest.
    public var transaction: Int?
    public var productId: String?
    public var expiresAt: Int64?
    public var isPending: Bool
    public var hasGap: Bool
  }

  public internal(set) var eventCount: Int64 = 0
  public internal(set) var lastEvent: StreamState.LastEvent?
  public internal(set) var renewal: RenewalInfo?
  /// By purchase date, then by what decides between equal ones.
  public internal(set) var transactions: [Transaction] = []
  /// Place in `transactions` of the newest that counts.
  public internal(set) var head: Int?
  public internal(set) var revokedAt: Int64?
  /// The original transaction id this stream replaced (MIGRATION), by its newest word on it.
  public internal(set) var previousOriginalTransactionId: String?
  /// In the order of time; empty where there is no row to show.
  public internal(set) var spans: [Span] = []

  init() {}

  public init(_ state: StreamState) { self.init(state, Periods(state)) }

  /// - Parameters:
  ///   - periods: the state's own.
  ///   - time: the one moment that is asked about; nil for all of them.
  init(_ state: StreamState, _ periods: Periods, only time: Int64? = nil) {
    eventCount = state.eventCount
    lastEvent = state.lastEvent
    renewal = state.renewal?.renewal
    previousOriginalTransactionId = state.previousOriginalTransactionId
    transactions = periods.registers.map(\.transaction)
    head = periods.head
    revokedAt = periods.revokedAt
    guard !state.isEmpty else { return }
    var moment = StatusEvaluator(periods, renewal, code: state.status?.status)
    for time in time.map({ [$0] }) ?? StatusEvaluator.turns(periods, renewal) {
      moment.move(to: time)
      let span = moment.span
      if let last = spans.last, last.isSameAnswer(as: span) { continue }
      spans.append(span)
    }
  }

  /// The answer at a time; nil where no event told of a transaction or a renewal.
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

  /// A non-renewing subscription lasts as long as its product is configured to; without that it
  /// does not end. V1 does not name the type: there the configured product says it.
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

  /// By bytes: to `String` two spellings of one accent are equal.
  private func hasSameProduct(as other: Self) -> Bool {
    guard let one = productId, let two = other.productId else { return true }
    return one.utf8.elementsEqual(two.utf8)
  }
}
