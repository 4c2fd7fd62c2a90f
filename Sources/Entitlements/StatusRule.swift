/// The rule that decided a status: the first that matched. Times are milliseconds since 1970.
public enum StatusRule: Sendable, Equatable {
  /// No transaction was told of, only what renews.
  case noTransaction
  /// A paid period covers the moment.
  case covered
  /// No period covers it, but Apple says it renewed: paid through the renewal date.
  case paidWithoutTransaction(through: Int64)
  /// The same, and that date is past.
  case paidWithoutTransactionOver(since: Int64)
  /// A one-time product that nobody took back.
  case oneTime
  case revoked(since: Int64)
  case grace(until: Int64)
  case retry(until: Int64)
  /// The newest period ended, and nothing speaks for more.
  case over(since: Int64)

  public var status: Entitlement.Status {
    switch self {
    case .covered, .paidWithoutTransaction, .oneTime: .active
    case .noTransaction, .paidWithoutTransactionOver, .over: .expired
    case .revoked: .revoked
    case .grace: .gracePeriod
    case .retry: .billingRetry
    }
  }
}

extension StatusRule {
  /// The rule that decides a stream's status at a time; how long a non-renewing product lasts is
  /// configuration, and not looked at here.
  public init(_ state: StreamState, at time: Int64) {
    var moment = StatusEvaluator(
      Periods(state), state.renewal?.renewal, code: state.status?.status)
    moment.move(to: time)
    self = moment.rule
  }
}
