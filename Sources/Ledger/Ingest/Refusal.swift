import AppStore

/// Why a notification was not accepted: all that the sender learns of it.
///
/// A code is a short word, stable across releases, for counters, logs and problem documents; it
/// never contains anything of what was sent.
public enum Refusal: Error, Sendable, Equatable {
  /// It can never become valid: not JSON, not a notification, not a JWS.
  case malformed(String)
  /// No root and no secret of ours authenticates it (promise 3).
  case untrusted(String)
  /// Genuine, but not admitted here; stored in quarantine (promise 2).
  case notAdmitted(String)
  /// Our fault, or possibly so: the sender should try again later.
  case unavailable(String)

  public var code: String {
    switch self {
    case .malformed(let code), .untrusted(let code), .notAdmitted(let code),
      .unavailable(let code):
      code
    }
  }

  /// Why a genuine payload cannot become an event.
  init(_ fault: PayloadFault) { self = .notAdmitted(fault.code) }
}
