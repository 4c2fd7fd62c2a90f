import AppStore
import Ledger
import Queries
import StrictJSON

/// What the overview says of recovery.
extension LedgerService {
  /// The member `recovery` of the overview that answers a question.
  func recoveryOverview(of question: Overview.Question) -> JSONValue {
    let readings = recoveryReadings
    let found = readings?.apps ?? []
    var apps: [JSONValue] = []
    for app in configuration.apps.values.sorted(by: { $0.bundleId < $1.bundleId }) {
      for environment in app.environments.sorted()
      where question.covers(environment, app.bundleId) {
        let last = found.first { $0.environment == environment && $0.bundleId == app.bundleId }
        apps.append(
          .object([
            ("environment", .string(environment.rawValue)), ("bundle_id", .string(app.bundleId)),
            ("recover", .string(app.appStore?.recover.rawValue ?? "no_key")),
            ("last_recovery", last?.recovery ?? .null),
            ("last_reconciliation", last?.reconciliation ?? .null),
          ]))
      }
    }
    return .object([
      ("recovered_at", .optional(readings?.succeededAt)),
      ("next_at", .optional(readings?.nextAt)),
      ("reconciled_at", .optional(readings?.reconciliation.succeededAt)),
      ("next_reconciliation_at", .optional(readings?.reconciliation.nextAt)),
      ("apps", .array(apps)),
    ])
  }
}
