import AppStore
import Ledger
import Queries
import StrictJSON

/// What the overview says of recovery.
extension LedgerService {
  /// The member `recovery` of the overview that answers a question.
  func recoveryOverview(of question: Overview.Question) -> Overview.RecoveryOverview {
    var answer = Overview.RecoveryOverview()
    answer.status = recoveryStatus
    for app in configuration.apps.values.sorted(by: { $0.bundleId < $1.bundleId }) {
      for environment in app.environments.sorted()
      where question.covers(environment, app.bundleId) {
        let key = RecoveryStatus.App(environment, app.bundleId)
        let last = answer.status?.apps[key] ?? RecoveryStatus.Last()
        answer.apps.append(
          (
            environment, app.bundleId, app.appStore?.recover.rawValue ?? "no_key",
            last.latest(recoveredByHand(key))
          ))
      }
    }
    return answer
  }
}
