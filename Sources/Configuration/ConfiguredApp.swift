public import AppStore

extension Configuration {
  /// One app whose notifications are admitted.
  public struct App: Sendable, Equatable {
    public var bundleId: String
    /// Apple's id of the app, which Production notifications must contain.
    public var appAppleId: Int64?
    public var environments: Set<Environment>
    /// SHA-256 of the secrets that V1 notifications must contain, two during a rotation. If there
    /// is none, the app accepts no V1.
    public var v1SecretDigests: [[UInt8]] = []
    /// How Apple is asked about the app; nil if it is not.
    public var appStore: AppStoreAccess?

    package init(
      bundleId: String, appAppleId: Int64? = nil, environments: Set<Environment>,
      v1SecretDigests: [[UInt8]] = []
    ) {
      self.bundleId = bundleId
      self.appAppleId = appAppleId
      self.environments = environments
      self.v1SecretDigests = v1SecretDigests
    }
  }
}
