public import AppStore
public import SignedData

/// A key for the App Store Server API, as App Store Connect gives it (Users and Access,
/// Integrations, In-App Purchase). One serves all apps of a team.
public struct AppStoreKey: Sendable {
  let issuerId: String
  let keyId: String
  /// A P-256 key.
  let signing: SigningKey

  public init(issuerId: String, keyId: String, signing: SigningKey) {
    (self.issuerId, self.keyId, self.signing) = (issuerId, keyId, signing)
  }
}

/// One app in one environment, as the App Store Server API sees it: its address, its token, and how
/// many requests it may still send. Shared by all clients of the app and environment.
public final class AppStoreAccount: Sendable {
  public let bundleId: String
  public let environment: Environment
  let service: ServiceURL
  let proxy: ServiceURL?
  let tokens: TokenSource
  let budget: RequestBudget

  /// - Parameters:
  ///   - service: the address of the API for this environment.
  ///   - limitShare: the share of Apple's limits that is used, above 0 and at most 1: the owner's
  ///     other programs need the rest.
  ///   - proxy: a proxy for all requests; nil for none.
  public init(
    bundleId: String, environment: Environment, service: ServiceURL, key: AppStoreKey,
    limitShare: Double, proxy: ServiceURL? = nil
  ) {
    self.bundleId = bundleId
    self.environment = environment
    self.service = service
    self.proxy = proxy
    tokens = TokenSource(key, bundleId: bundleId)
    budget = RequestBudget(environment, share: limitShare)
  }
}
