/// Why a JWS was not proven to be signed by Apple.
///
/// Holds a reason code for counters and logs, and no part of the JWS.
public enum ProofFailure: Error, Sendable, Equatable {
  /// Not a compact JWS (RFC 7515 section 7.1), so it can never become valid.
  case malformed(String)
  /// A JWS without a valid signature by a trusted chain.
  case untrusted(String)

  /// A short code, stable across releases: letters, digits and underscores.
  public var code: String {
    switch self {
    case .malformed(let code), .untrusted(let code): code
    }
  }
}
