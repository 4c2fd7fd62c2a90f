public import LedgerEngine
import Observability

/// What the daemon recovered by itself, as `/metrics` shows it.
public struct RecoveryReadings: Sendable {
  let requests: Int64
  let recovered: Int64
  let failures: Int64
  /// Milliseconds since 1970; nil before any.
  let succeededAt: Int64?
  /// Milliseconds since 1970; nil if none is planned.
  let nextAt: Int64?

  public init(
    requests: Int64, recovered: Int64, failures: Int64, succeededAt: Int64?, nextAt: Int64?
  ) {
    (self.requests, self.recovered, self.failures) = (requests, recovered, failures)
    (self.succeededAt, self.nextAt) = (succeededAt, nextAt)
  }

  func write(_ page: inout PrometheusText) {
    page.single(
      "subledger_recovery_requests_total", .counter,
      "Requests for Apple's notification history, of recoveries that ended.", requests)
    page.single(
      "subledger_recovered_total", .counter,
      "Events that came from Apple's notification history, because they were missing.", recovered)
    page.single(
      "subledger_recovery_failures_total", .counter,
      "Recoveries that did not come to their end; each is tried again.", failures)
    page.family(
      "subledger_recovery_success_time_seconds", .gauge,
      "When the last complete recovery ended, as Unix time; 0 before any.")
    page.sample(
      "subledger_recovery_success_time_seconds", [], Double(succeededAt ?? 0) / 1000)
    page.family(
      "subledger_recovery_next_time_seconds", .gauge,
      "When the next recovery begins, as Unix time; 0 if none is planned.")
    page.sample("subledger_recovery_next_time_seconds", [], Double(nextAt ?? 0) / 1000)
  }
}

extension LedgerService {
  /// Counts what came from Apple's history and was not there. Duplicates are the rule there, and
  /// say nothing about what Apple delivers.
  public func record(recovered received: Receiver.Received, _ disposition: Disposition) {
    if case .duplicate = disposition { return }
    record(received, disposition)
  }
}
