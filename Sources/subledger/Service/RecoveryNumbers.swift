import API
import Recovery

extension RecoveryReadings {
  /// What the recovery service says of itself, as the API shows it.
  init(_ status: RecoveryStatus) {
    self.init()
    (requests, recovered, failures) = (status.requests, status.recovered, status.failures)
    (succeededAt, nextAt) = (status.succeededAt, status.nextAt)
    let daily = status.reconciliation
    (reconciliation.asked, reconciliation.differed) = (daily.asked, daily.differed)
    (reconciliation.journaled, reconciliation.failures) = (daily.journaled, daily.failures)
    (reconciliation.succeededAt, reconciliation.nextAt) = (daily.succeededAt, daily.nextAt)
    apps = status.apps.map { app, last in
      App(
        app.environment, app.bundleId, recovery: last.recovery,
        reconciliation: last.reconciliation)
    }
  }
}
