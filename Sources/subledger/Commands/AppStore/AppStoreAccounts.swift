import AppStore
import Clients
import Ledger
import Platform

/// The apps that Apple can be asked about, and in which environments.
struct AppStoreAccounts {
  /// Production before the Sandbox, as Apple advises; in each the apps in the order of their ids.
  let all: [AppStoreAccount]

  /// - Parameters:
  ///   - bundleId: the only app; nil for all.
  ///   - environment: the only environment; nil for all.
  ///   - possible: the environments in which Apple has the call.
  /// - Throws: `LedgerError.usage` if none is left.
  init(
    _ configuration: Configuration, app bundleId: String?, environment: Environment?,
    in possible: [Environment] = Environment.all
  ) throws(LedgerError) {
    if let bundleId, configuration.apps[bundleId] == nil {
      throw .usage("no app '\(bundleId)' is configured")
    }
    let apps = configuration.apps.values.filter { bundleId == nil || $0.bundleId == bundleId }
    guard apps.contains(where: { $0.appStore != nil }) else {
      throw .usage(
        "no key to ask Apple with is configured; see appStore in: subledger help configuration")
    }
    all = Self.configured(configuration).filter { account in
      apps.contains { $0.bundleId == account.bundleId } && possible.contains(account.environment)
        && (environment == nil || environment == account.environment)
    }
    guard !all.isEmpty else { throw .usage("no app is configured for this environment") }
  }

  /// All that are configured; empty without `appStore`.
  static func configured(_ configuration: Configuration) -> [AppStoreAccount] {
    let apps = configuration.apps.values.sorted { $0.bundleId < $1.bundleId }
    return Environment.all.flatMap { environment in
      apps.filter { $0.environments.contains(environment) }
        .compactMap { Self.account($0, environment) }
    }
  }

  private static func account(
    _ app: Configuration.App, _ environment: Environment
  ) -> AppStoreAccount? {
    guard let access = app.appStore else { return nil }
    return AppStoreAccount(
      bundleId: app.bundleId, environment: environment,
      service: environment == .production ? access.production : access.sandbox,
      key: AppStoreKey(
        issuerId: access.issuerId, keyId: access.keyId, signing: access.key.signing),
      limitShare: access.limitShare, proxy: access.proxy)
  }

  /// The only one, for a command that asks about one app in one environment.
  ///
  /// - Throws: `LedgerError.usage` with the choices if there are several.
  func only() throws(LedgerError) -> AppStoreAccount {
    guard let account = all.first, all.count == 1 else {
      let choices = all.map { "--app \($0.bundleId) --environment \($0.environment)" }
      throw .usage("choose one of: " + choices.joined(separator: ", "))
    }
    return account
  }

  /// - Throws: `LedgerError.unavailable` when curl cannot be initialised.
  static func client(
    _ account: AppStoreAccount, _ policy: RetryPolicy, _ cancellation: Cancellation,
    _ settings: ClientSettings = ClientSettings()
  ) throws(LedgerError) -> AppStoreClient {
    try mapError(
      { (error: ClientError) in LedgerError.unavailable("\(error)") },
      try AppStoreClient(
        account, version: Subledger.version, policy: policy, cancellation: cancellation,
        settings: settings))
  }
}
