/// Why something that should be signed by Apple is not proven to be.
///
/// Carries a reason code for counters and logs, and nothing of what was sent.
public enum ProofFailure: Error, Sendable, Equatable {
  /// Not a compact JWS (RFC 7515 section 7.1): it can never become valid.
  case malformed(String)
  /// A JWS that nobody we trust has signed.
  case untrusted(String)

  /// A short code, stable across releases: letters, digits and underscores.
  public var code: String {
    switch self {
    case .malformed(let code), .untrusted(let code): code
    }
  }
}
