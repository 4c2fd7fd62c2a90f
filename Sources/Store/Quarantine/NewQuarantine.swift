public import AppStore

/// A genuine notification that is not admitted and is to be quarantined (promise 2).
public struct NewQuarantine: Sendable {
  /// The reason code: `other_app`, `payload`, and so on.
  public var reason: String
  var owner: Owner
  public var source: EventSource
  public var claims: QuarantineClaims
  /// Our time, in milliseconds since 1970 UTC.
  public var receivedAt: Int64
  public var body: [UInt8]
  /// SHA-256 of `body`.
  public var bodySHA256: [UInt8]

  /// Whose notification it is, as far as it says.
  public enum Owner: Sendable {
    case ours
    /// Of an app that is not configured. Any developer can send these, so their number is capped.
    case foreign
    /// It names no app that can be read. Capped separately.
    case unnamed
  }

  public init(
    reason: String, owner: Owner, source: EventSource, claims: QuarantineClaims,
    receivedAt: Int64, body: [UInt8], bodySHA256: [UInt8]
  ) {
    (self.reason, self.owner, self.source, self.claims) = (reason, owner, source, claims)
    (self.receivedAt, self.body, self.bodySHA256) = (receivedAt, body, bodySHA256)
  }
}
