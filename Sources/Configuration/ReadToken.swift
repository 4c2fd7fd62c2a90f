public import AppStore

extension Configuration {
  /// A bearer token, and what it can read. Without lists it can read everything.
  public struct ReadToken: Sendable, Equatable {
    /// The name that logs and errors use.
    public var name: String
    /// SHA-256 of the token, 32 bytes. The token itself is not stored.
    public var sha256: [UInt8]
    /// The apps it can read; nil for all.
    public var bundleIds: Set<String>?
    /// The environments it can read; nil for both.
    public var environments: Set<Environment>?

    package init(
      name: String, sha256: [UInt8], bundleIds: Set<String>? = nil,
      environments: Set<Environment>? = nil
    ) {
      self.name = name
      self.sha256 = sha256
      self.bundleIds = bundleIds
      self.environments = environments
    }

    /// Whether the token can read everything, what belongs to no app included.
    public var coversEverything: Bool { covers(environment: nil, bundleId: nil) }

    /// Whether the token can read rows of this app and environment.
    public func covers(environment: Environment?, bundleId: String?) -> Bool {
      let coversApp = bundleIds.map { ids in bundleId.map(ids.contains) ?? false } ?? true
      let coversEnvironment =
        environments.map { all in environment.map(all.contains) ?? false } ?? true
      return coversApp && coversEnvironment
    }
  }
}
