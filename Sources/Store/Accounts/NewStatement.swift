public import AppStore
public import StrictJSON

/// A statement of the owner that is to be journaled.
public struct NewStatement: Sendable {
  /// Nil of what is said of products.
  public var customer: CustomerName?
  public var content: OwnerStatement.Content
  public var environment: Environment
  public var bundleId: String
  /// The name of the token, or of the command.
  public var token: String
  /// The caller's Idempotency-Key: the same statement with the same key is journaled once.
  var idempotencyKey: String?
  /// Our time, in milliseconds since 1970 UTC.
  var receivedAt: Int64

  public init(
    _ content: OwnerStatement.Content, of customer: CustomerName?, environment: Environment,
    bundleId: String, token: String, idempotencyKey: String? = nil, receivedAt: Int64
  ) {
    self.content = content
    self.customer = customer
    self.environment = environment
    self.bundleId = bundleId
    self.token = token
    self.idempotencyKey = idempotencyKey
    self.receivedAt = receivedAt
  }
}

/// As a command hands a claim, a grant, or its end, or a mapping, to the daemon.
extension NewStatement {
  /// Releases and consent have no form: no command makes them.
  public var json: JSONValue {
    var members: [(String, JSONValue)] = [
      ("environment", .string(environment.rawValue)), ("bundleId", .string(bundleId)),
      ("token", .string(token)),
    ]
    if let customer {
      members += [("kind", .string(customer.kind.rawValue)), ("name", .string(customer.name))]
    }
    switch content {
    case .grant(let entitlement, let until, let reason):
      members += [
        ("entitlement", .string(entitlement)), ("until", .optional(until)),
        ("reason", .optional(reason)),
      ]
    case .revocation(let id, let reason):
      members += [("grant", .string(id)), ("reason", .optional(reason))]
    case .claim(let id): members.append(("originalTransactionId", .string(id)))
    case .catalog(let mapping): members += mapping.members
    case .refund(let statement, let id):
      members +=
        [
          ("type", .string(statement.notificationType)), ("originalTransactionId", .string(id)),
        ] + statement.members
    case .release, .consent: break
    }
    return .object(members)
  }

  /// Nil for another form.
  public init?(_ root: JSONElement, receivedAt: Int64) {
    guard let environment = Environment.named(root["environment"]?.string),
      let bundleId = root["bundleId"]?.string,
      let token = root["token"]?.string
    else { return nil }
    let name = root["name"]?.string.flatMap { CustomerName.isValid($0) ? $0 : nil }
    let kind = root["kind"]?.string.flatMap(CustomerName.Kind.init)
    let customer = kind.flatMap { kind in name.map { CustomerName(kind, $0) } }
    let content: OwnerStatement.Content
    if root["entitlements"] != nil {
      guard let mapping = ProductMapping(root) else { return nil }
      content = .catalog(mapping)
    } else if root["request"] != nil {
      guard let said = OwnerStatement.content(root) else { return nil }
      content = said
    } else if customer == nil {
      return nil
    } else if let id = root["grant"]?.string {
      content = .revocation(of: id, reason: root["reason"]?.string)
    } else if let id = root["originalTransactionId"]?.string {
      content = .claim(originalTransactionId: id)
    } else if let entitlement = root["entitlement"]?.string {
      content = .grant(
        entitlement: entitlement, until: root["until"]?.integer, reason: root["reason"]?.string)
    } else {
      return nil
    }
    self.init(
      content, of: customer, environment: environment, bundleId: bundleId, token: token,
      receivedAt: receivedAt)
  }
}
