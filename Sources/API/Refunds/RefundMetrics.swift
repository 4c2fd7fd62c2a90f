import Entitlements
import Ledger
import Platform
import Queries
import Store

/// Requests for refunds, as `/metrics` shows them.
extension LedgerService {
  func writeRefunds(_ page: inout PrometheusText) {
    let counts = rows.refunds
    page.family(
      "subledger_refund_requests", .gauge,
      "Requests of customers for refunds, by state, as of the last count.")
    for state in RefundRequest.State.allCases.map(\.rawValue) {
      page.sample(
        "subledger_refund_requests", [(name: "state", value: state)],
        counts.filter { $0.state == state }.reduce(0) { $0 + $1.count })
    }
    let next = counts.filter { $0.state == RefundRequest.State.waiting.rawValue }
      .map(\.deadline).min()
    page.single(
      "subledger_refund_deadline_seconds", .gauge,
      "Time until the nearest deadline of a request that waits, as of the last count; 0 if none "
        + "does, or without refunds in the configuration.",
      configuration.refundPolicies == nil
        ? 0 : next.map { max(0, $0.subtracting(orBoundBy: Clock.now()) / 1000) } ?? 0)
    writeOutcomes(&page, counts)
  }

  /// By policies of the configuration alone, so that their number is bounded.
  private func writeOutcomes(_ page: inout PrometheusText, _ counts: [RefundCount]) {
    let policies = (configuration.refundPolicies ?? []).map(\.name)
    let outcomes = RefundRequest.Outcome.names + [RefundLine.untold]
    var sums: [String: [String: Int64]] = [:]
    for name in policies + ["backend", "other", "none"] {
      sums[name] = Dictionary(uniqueKeysWithValues: outcomes.map { ($0, 0) })
    }
    for count in counts {
      guard let outcome = count.outcome else { continue }
      let isAnswered = count.state == RefundRequest.State.answered.rawValue
      let policy = count.policy.map { policies.contains($0) ? $0 : "other" } ?? "backend"
      sums[isAnswered ? policy : "none", default: [:]][outcome, default: 0] += count.count
    }
    page.family(
      "subledger_refund_outcomes", .gauge,
      "Requests for refunds that Apple decided, by outcome and by the policy whose answer Apple "
        + "took: backend if yours answered, other for a policy that is no longer configured, none "
        + "if Apple took none; as of the last count.")
    for (policy, outcomes) in sums.sorted(by: { $0.key < $1.key }) {
      for (outcome, count) in outcomes.sorted(by: { $0.key < $1.key }) {
        page.sample(
          "subledger_refund_outcomes",
          [(name: "policy", value: policy), (name: "outcome", value: outcome)], count)
      }
    }
  }
}
