import Platform
public import StrictJSON

/// What the owner of the ledger says of a customer, or of his products: the body of an event whose
/// source is `account`, `grant`, `catalog` or `refund`. It is not Apple's word; of it only the
/// duration of a non-renewing product ends a row (promise 3).
public struct OwnerStatement: Sendable, Equatable {
  public enum Content: Sendable, Equatable {
    /// The customer with this original transaction id has the account.
    case claim(originalTransactionId: String)
    /// He has it no longer.
    case release(originalTransactionId: String)
    /// The customer may use an entitlement, until a time in milliseconds since 1970; nil: for ever.
    case grant(entitlement: String, until: Int64?, reason: String?)
    /// An earlier grant, by its id, has ended.
    case revocation(of: String, reason: String?)
    /// From now on products of the app give these entitlements and no others, and last so long.
    case catalog(ProductMapping)
    /// About a request of the customer with this original transaction id for a refund.
    case refund(RefundStatement, originalTransactionId: String)
    /// Whether the customer consents that Apple is told of his purchases, since a time in
    /// milliseconds since 1970; nil: since it was said.
    case consent(Bool, since: Int64?)
  }

  public var content: Content
  /// The customer: an HMAC, 32 bytes, that only the journal's table of accounts can resolve;
  /// `nobody` where it is about products, and a hash of the request where it is about one.
  public var mac: [UInt8]
  public var environment: Environment
  public var bundleId: String
  /// When it was said, in milliseconds since 1970 UTC by our clock.
  public var at: Int64
  /// A UUID in lower case: random, or derived from the caller's Idempotency-Key.
  public var id: String
  /// The name of the token, or of the command.
  public var token: String

  public static let nobody = [UInt8](repeating: 0, count: 32)

  public init(
    _ content: Content, mac: [UInt8], environment: Environment, bundleId: String, at: Int64,
    id: String, token: String
  ) {
    self.content = content
    self.mac = mac
    self.environment = environment
    self.bundleId = bundleId
    self.at = at
    self.id = id
    self.token = token
  }

  public var source: EventSource {
    switch content {
    case .claim, .release: .account
    case .grant, .revocation: .grant
    case .catalog: .catalog
    case .refund, .consent: .refund
    }
  }

  /// In the place of Apple's notificationType.
  public var notificationType: String {
    switch content {
    case .claim: "ACCOUNT_CLAIM"
    case .release: "ACCOUNT_RELEASE"
    case .grant: "GRANT"
    case .revocation: "GRANT_REVOKE"
    case .catalog: "CATALOG"
    case .refund(let statement, _): statement.notificationType
    case .consent: "REFUND_CONSENT"
    }
  }

  /// The customer's, where the statement is about one purchase.
  public var originalTransactionId: String? {
    switch content {
    case .claim(let id), .release(let id), .refund(_, let id): id
    case .grant, .revocation, .catalog, .consent: nil
    }
  }

  /// The id of the grant that it ends; nil of another statement.
  public var endedGrant: String? {
    guard case .revocation(let id, _) = content else { return nil }
    return id
  }

  /// Why, for people.
  public var reason: String? {
    switch content {
    case .grant(_, _, let reason), .revocation(_, let reason): reason
    case .claim, .release, .catalog, .refund, .consent: nil
    }
  }

  /// Whether both say the same, at whatever time and by whichever token.
  public func saysTheSame(as other: Self) -> Bool {
    var copy = other
    (copy.at, copy.token) = (at, token)
    return self == copy
  }

  // MARK: The body

  /// Canonical JSON: members sorted by their UTF-8 bytes, no white space.
  public var body: [UInt8] {
    var members: [(String, JSONValue)] = [
      ("at", .integer(at)), ("bundleId", .string(bundleId)),
      ("environment", .string(environment.rawValue)), ("id", .string(id)),
      ("token", .string(token)), ("type", .string(notificationType)),
    ]
    if source != .catalog { members.append(("mac", .string(Hexadecimal.encode(mac)))) }
    switch content {
    case .claim(let id), .release(let id): members.append(("originalTransactionId", .string(id)))
    case .grant(let entitlement, let until, let reason):
      members.append(("entitlement", .string(entitlement)))
      if let until { members.append(("until", .integer(until))) }
      if let reason { members.append(("reason", .string(reason))) }
    case .revocation(let grant, let reason):
      members.append(("grant", .string(grant)))
      if let reason { members.append(("reason", .string(reason))) }
    case .catalog(let mapping): members += mapping.members
    case .refund(let statement, let id):
      members += [("originalTransactionId", .string(id))] + statement.members
    case .consent(let isGranted, let time):
      members.append(("granted", .boolean(isGranted)))
      if let time { members.append(("since", .integer(time))) }
    }
    return JSONValue.object(members.sorted { $0.0 < $1.0 }).bytes
  }

  /// Whether JSON is meant as a statement: nothing that Apple sends has these members.
  public static func isMeant(by root: JSONElement) -> Bool {
    root["type"]?.string != nil && root["token"]?.string != nil
  }

  /// Reads a body; nil if it is not exactly what `body` gives, names no environment, or has a
  /// mapping that could not be configured, whoever wrote it.
  public init?(body: [UInt8]) {
    guard let root = try? JSONDocument(parsing: body).root, root.kind == .object,
      let environment = Environment.named(root["environment"]?.string),
      let bundleId = root["bundleId"]?.string,
      let at = root["at"]?.integer, let id = root["id"]?.string, let token = root["token"]?.string,
      let content = Self.content(root),
      let mac = root["mac"].map({ $0.string.flatMap { Hexadecimal.decode($0) } }) ?? Self.nobody,
      mac.count == 32
    else { return nil }
    self.init(
      content, mac: mac, environment: environment, bundleId: bundleId, at: at, id: id,
      token: token)
    guard self.body == body else { return nil }
  }

  /// What a body says; nil for no statement.
  public static func content(_ root: JSONElement) -> Content? {
    let original = root["originalTransactionId"]?.string
    switch root["type"]?.string {
    case "ACCOUNT_CLAIM": return original.map { .claim(originalTransactionId: $0) }
    case "ACCOUNT_RELEASE": return original.map { .release(originalTransactionId: $0) }
    case "GRANT":
      return root["entitlement"]?.string.map {
        .grant(
          entitlement: $0, until: root["until"]?.integer, reason: root["reason"]?.string)
      }
    case "GRANT_REVOKE":
      return root["grant"]?.string.map { .revocation(of: $0, reason: root["reason"]?.string) }
    case "CATALOG": return ProductMapping(root).map { .catalog($0) }
    case "REFUND_CONSENT":
      return root["granted"]?.boolean.map { .consent($0, since: root["since"]?.integer) }
    default:
      return original.flatMap { id in
        RefundStatement(root).map { .refund($0, originalTransactionId: id) }
      }
    }
  }
}
