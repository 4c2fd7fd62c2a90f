public import AppStore
public import AppStoreClient
public import Configuration

/// The apps and environments that Apple can be asked about. It remembers each, because a new one
/// would have a budget of requests of its own.
public struct RecoveryAccounts {
  private struct Key: Hashable {
    let bundleId: String
    let environment: Environment
  }

  private var known: [Key: (access: Configuration.AppStoreAccess, account: AppStoreAccount)] = [:]

  public init() {}

  /// Those of a configuration, by bundle id, Production first.
  ///
  /// - Parameters:
  ///   - bundleId: the only app; nil for all.
  ///   - environment: the only environment; nil for both.
  ///   - isAutomatic: leaves out the apps whose configuration has `"recover": "off"`.
  public mutating func all(
    _ configuration: Configuration, bundleId: String? = nil, environment: Environment? = nil,
    isAutomatic: Bool = false
  ) -> [AppStoreAccount] {
    var accounts: [AppStoreAccount] = []
    for app in configuration.apps.values.sorted(by: { $0.bundleId < $1.bundleId })
    where bundleId == nil || app.bundleId == bundleId {
      guard let access = app.appStore, !isAutomatic || access.recover == .automatic else {
        continue
      }
      for other in Environment.all
      where app.environments.contains(other) && (environment == nil || other == environment) {
        accounts.append(account(app.bundleId, other, access))
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
      limitShare: access.limitShare)
    known[key] = (access, account)
    return account
  }
}
