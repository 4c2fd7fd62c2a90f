public import AppStore
public import Platform

extension Configuration {
  /// One app whose notifications are admitted.
  public struct App: Sendable, Equatable {
    public var bundleId: String
    /// Apple's id of the app, which Production notifications must contain.
    public var appAppleId: Int64?
    public var environments: Set<Environment>
    /// SHA-256 of the secrets that V1 notifications must contain, two during a rotation. If there
    /// is none, the app accepts no V1.
    var v1SecretDigests: [[UInt8]] = []
    /// The file of those secrets.
    var v1SecretFile: String?
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

    /// The secrets themselves, read again: they are not kept in memory.
    ///
    /// - Returns: none if the app has no file.
    /// - Throws: `LedgerError` if the file has become unusable.
    public func readV1Secrets() throws(LedgerError) -> [String] {
      guard let v1SecretFile else { return [] }
      return try ConfigurationReader(file: v1SecretFile).secrets(v1SecretFile)
        .map { String(decoding: $0, as: UTF8.self) }
    }
  }
}
