public import AppStore

/// A statement of the owner that is to be journaled.
public struct NewStatement: Sendable {
  public var customer: CustomerName
  public var content: OwnerStatement.Content
  public var environment: Environment
  public var bundleId: String
  /// The name of the token, or of the command.
  public var token: String
  /// The caller's Idempotency-Key: the same statement with the same key is journaled once.
  public var idempotencyKey: String?
  /// Our time, in milliseconds since 1970 UTC.
  public var receivedAt: Int64

  public init(
    _ content: OwnerStatement.Content, of customer: CustomerName, environment: Environment,
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
