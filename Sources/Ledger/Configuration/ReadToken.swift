public import AppStore
import Platform
import SignedData

extension Configuration {
  /// What a bearer token may do.
  public enum Permission: String, Sendable, CaseIterable {
    /// Every GET.
    case read
    /// `GET /metrics` alone, which `read` may too.
    case metrics
    /// Hand over what Apple signed (`POST /v1/transactions`, `POST /v1/receipts`).
    case submit
    /// Say without Apple's proof which account a purchase belongs to.
    case claim
    /// Grant entitlements, and end grants.
    case grant
    /// Ask Apple for an order id (`GET /v1/orders/{order}`).
    case lookup
    /// Say what Apple is told of requests for refunds, and which customers consent.
    case refunds
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
    /// Covers nothing: for who has no token.
    package static let nobody = ReadToken(name: "", sha256: [], bundleIds: [], permissions: [])

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

/// Recognizes bearer tokens (RFC 6750) by their SHA-256.
public struct ReadAccess: Sendable {
  private let tokens: [Configuration.ReadToken]

  public init(_ tokens: [Configuration.ReadToken]) { self.tokens = tokens }

  /// The SHA-256 of a token in hexadecimal, as the configuration has it.
  public static func digest(of token: String) -> String {
    Hexadecimal.encode(SHA256.hash(Array(token.utf8)))
  }

  /// The token of a request, given all its Authorization fields. Returns nil if there is none, more
  /// than one, or one that is not known.
  ///
  /// Every known token is compared, so that the duration reveals nothing about a guess.
  public func token(authorization fields: [String]) -> Configuration.ReadToken? {
    guard fields.count == 1, let field = fields.first,
      let space = field.utf8.firstIndex(of: UInt8(ascii: " ")),
      field.utf8[..<space].lazy.map({ $0 | 0x20 }).elementsEqual("bearer".utf8)
    else { return nil }
    let digest = SHA256.hash(Array(field.utf8[space...].dropFirst()))
    var found: Configuration.ReadToken?
    for token in tokens where SHA256.areSame(token.sha256, digest) { found = token }
    return found
  }
}
