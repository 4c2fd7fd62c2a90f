import AppStore
import Clients
import Ledger

/// The apps and environments that the daemon may ask Apple about. It remembers each, because a new
/// one would have a budget of requests of its own.
struct RecoveryAccounts {
  private struct Key: Hashable {
    let bundleId: String
    let environment: Environment
  }

  private var known: [Key: (access: Configuration.AppStoreAccess, account: AppStoreAccount)] = [:]

  /// Those of a configuration, except the apps that have `"recover": "off"`.
  mutating func automatic(_ configuration: Configuration) -> [AppStoreAccount] {
    var accounts: [AppStoreAccount] = []
    for app in configuration.apps.values.sorted(by: { $0.bundleId < $1.bundleId }) {
      guard let access = app.appStore, access.recover == .automatic else { continue }
      for environment in Environment.all where app.environments.contains(environment) {
        accounts.append(account(app.bundleId, environment, access))
      }
    }
    return accounts
  }

  private mutating func account(
    _ bundleId: String, _ environment: Environment, _ access: Configuration.AppStoreAccess
  ) -> AppStoreAccount {
    let key = Key(bundleId: bundleId, environment: environment)
    if let found = known[key], found.access == access { return found.account }
    let account = AppStoreAccount(
      bundleId: bundleId, environment: environment,
      service: environment == .production ? access.production : access.sandbox,
      key: AppStoreKey(
        issuerId: access.issuerId, keyId: access.keyId, signing: access.key.signing),
      limitShare: access.limitShare, proxy: access.proxy)
    known[key] = (access, account)
    return account
  }
}
