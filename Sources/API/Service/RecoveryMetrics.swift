public import Ledger
import Platform
import Queries
public import Store

/// What the daemon recovered and reconciled by itself, as `/metrics` shows it.
extension RecoveryStatus {
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
    Self.write(
      &page, "subledger_recovery_success_time_seconds",
      "When the last complete recovery ended, as Unix time; 0 before any.", succeededAt)
    Self.write(
      &page, "subledger_recovery_next_time_seconds",
      "When the next recovery begins, as Unix time; 0 if none is planned.", nextAt)
    reconciliation.write(&page)
  }

  fileprivate static func write(
    _ page: inout PrometheusText, _ name: String, _ meaning: String, _ time: Int64?
  ) {
    page.family(name, .gauge, meaning)
    page.sample(name, [], Double(time ?? 0) / 1000)
  }
}

extension RecoveryStatus.Reconciliations {
  fileprivate func write(_ page: inout PrometheusText) {
    page.single(
      "subledger_reconciled_total", .counter,
      "Customers of whom Apple had said nothing since their paid period ended, and about whom it "
        + "was asked.", asked)
    page.single(
      "subledger_reconciled_differing_total", .counter,
      "Those of them of whom Apple said something else than the row.", differed)
    page.single(
      "subledger_reconciled_events_total", .counter,
      "Events that were journaled because Apple was asked about them.", journaled)
    page.single(
      "subledger_reconciliation_failures_total", .counter,
      "Daily reconciliations that did not come to their end; each is tried again.", failures)
    RecoveryStatus.write(
      &page, "subledger_reconciliation_success_time_seconds",
      "When the last complete daily reconciliation ended, as Unix time; 0 before any.",
      succeededAt)
    RecoveryStatus.write(
      &page, "subledger_reconciliation_next_time_seconds",
      "When the next daily reconciliation begins, as Unix time; 0 if none is planned.", nextAt)
  }
}

extension LedgerService {
  /// Counts what came by asking Apple and was not there. Duplicates are the rule there, and say
  /// nothing about what Apple delivers.
  public func record(recovered received: Receiver.Received, _ outcome: Outcome) {
    switch outcome {
    case .duplicate, .held(isNew: false): return
    default: record(received, outcome)
    }
  }
}
