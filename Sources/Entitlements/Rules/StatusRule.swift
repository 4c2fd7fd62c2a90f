/// The rule that decided a status: the first one that matched. Times are milliseconds since 1970.
public enum StatusRule: Sendable, Equatable {
  /// The stream has renewal information and no transaction.
  case noTransaction
  /// A paid period covers the time.
  case covered
  /// No period covers the time, but Apple reports a later renewal: paid through the renewal date.
  case paidWithoutTransaction(through: Int64)
  /// Apple reports a later renewal, and the renewal date is past.
  case paidWithoutTransactionOver(since: Int64)
  /// A one-time product that was not refunded.
  case oneTime
  case revoked(since: Int64)
  case grace(until: Int64)
  /// Apple says that there is a grace period, and not until when: the shortest that it offers.
  case shortestGrace(until: Int64)
  /// The grace period of a period before the newest, which had not begun.
  case earlierGrace(until: Int64)
  case retry(until: Int64)
  /// The newest period ended, and neither grace period nor billing retry extends it.
  case over(since: Int64)
}

extension StatusRule {
  /// The rule that decides a stream's status at a time. The duration of non-renewing
  /// products is not considered.
  public init(_ state: StreamState, at time: Int64) {
    let periods = Periods(state)
    var evaluator = StatusEvaluator(state, periods, RenewalInForce(state, periods))
    evaluator.move(to: time)
    self = evaluator.rule
  }
}
