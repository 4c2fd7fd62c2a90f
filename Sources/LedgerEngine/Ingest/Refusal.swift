/// Why something was not accepted: all that the outside gets to see of it.
///
/// A code is a short word, stable across releases, for counters, logs and problem documents; it
/// never holds anything of what was sent.
public enum Refusal: Error, Sendable, Equatable {
  /// It can never become valid: no JSON, no notification, no JWS.
  case malformed(String)
  /// Nobody we trust vouches for it (promise 3).
  case untrusted(String)
  /// Genuine, but not admitted here; kept in quarantine (promise 2).
  case notAdmitted(String)
  /// Our fault, or might be: try again later.
  case unavailable(String)

  public var code: String {
    switch self {
    case .malformed(let code), .untrusted(let code), .notAdmitted(let code),
      .unavailable(let code):
      code
    }
  }
}
