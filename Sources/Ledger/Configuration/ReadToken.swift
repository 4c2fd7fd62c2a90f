public import AppStore
import Platform

extension Configuration {
  /// What a bearer token may do.
  public enum Permission: String, Sendable, CaseIterable {
    /// Every GET.
    case read
    /// Hand over what Apple signed (`POST /v1/transactions`, `POST /v1/receipts`).
    case submit
    /// Say without Apple's proof which account a purchase belongs to.
    case claim
    /// Grant entitlements, and end grants.
    case grant
    /// Forget accounts.
    case erase
  }

  /// A bearer token, what it may do, and for what. Without lists it covers everything.
  public struct ReadToken: Sendable, Equatable {
    /// The name that logs and errors use.
    public var name: String
    /// SHA-256 of the token, 32 bytes. The token itself is not stored.
    public var sha256: [UInt8]
    /// The apps it covers; nil for all.
    public var bundleIds: Set<String>?
    /// The environments it covers; nil for both.
    public var environments: Set<Environment>?
    public var permissions: Set<Permission>

    package init(
      name: String, sha256: [UInt8], bundleIds: Set<String>? = nil,
      environments: Set<Environment>? = nil, permissions: Set<Permission> = [.read]
    ) {
      self.name = name
      self.sha256 = sha256
      self.bundleIds = bundleIds
      self.environments = environments
      self.permissions = permissions
    }

    /// Covers everything, and is the token of no client: for who may read the data folder.
    package static let all = ReadToken(name: "", sha256: [])

    /// Whether the token covers everything, what belongs to no app included.
    public var coversEverything: Bool { covers(environment: nil, bundleId: nil) }

    /// Whether the token covers this app and environment.
    public func covers(environment: Environment?, bundleId: String?) -> Bool {
      let coversApp =
        bundleIds.map { ids in bundleId.map { ids.contains(exactly: $0) } ?? false } ?? true
      let coversEnvironment =
        environments.map { all in environment.map(all.contains) ?? false } ?? true
      return coversApp && coversEnvironment
    }
  }
}
