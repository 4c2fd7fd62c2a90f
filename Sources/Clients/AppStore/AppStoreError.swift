import AppStore
public import SignedData

/// Why a call got no usable answer. Holds no part of a token, a key, a request or an answer, except
/// Apple's code and Apple's id of the request.
public struct AppStoreError: Error, Sendable, Equatable, CustomStringConvertible {
  public enum Reason: Sendable, Equatable {
    /// No response.
    case transport(ClientError)
    /// 401, also with a new token. The milliseconds that our clock is ahead of the server's; nil if
    /// the answer has no date.
    case unauthorized(skew: Int64?)
    /// 429. The milliseconds until the next request may be sent.
    case limited(milliseconds: Int64)
    /// An error that Apple names.
    case code(ErrorCode)
    /// A status without a code.
    case status(Int)
    /// A success whose body is not as documented; what is wrong with it.
    case answer(String)
    /// OpenSSL could not sign a token.
    case signing(SigningError)
    /// The environment has no such call.
    case unavailable
    case cancelled
  }

  public let reason: Reason
  let endpoint: Endpoint
  let bundleId: String
  let environment: Environment
  /// Apple's id of the request, which its support asks for; nil if the answer has none.
  public let requestId: String?

  /// Apple's code; nil for an error without one.
  public var code: ErrorCode? {
    if case .code(let code) = reason { code } else { nil }
  }

  /// Whether the same call may succeed later.
  public var isRetryable: Bool {
    switch reason {
    case .transport(.tooLarge), .transport(.encoded), .transport(.field), .transport(.cancelled):
      false
    case .transport, .limited, .answer: true
    case .status(let status): status >= 500
    case .code(let code): [.again, .seldom, .wait].contains(code.action)
    case .unauthorized, .signing, .unavailable, .cancelled: false
    }
  }

  /// Whether Apple refused what was said, so that the same is refused again. A 400 without a code
  /// is about a malformed body; any other status without one may be that of a proxy.
  public var isRefusal: Bool {
    switch reason {
    case .code(let code): [.report, .elsewhere].contains(code.action)
    case .status(let status): status == 400
    default: false
    }
  }

  /// Requests for one call at most, where Apple does not say that a repetition helps.
  var mostAttempts: Int {
    switch reason {
    case .answer, .transport(.malformed): 3
    case .code(let code) where code.action == .seldom: 3
    default: .max
    }
  }

  public var description: String {
    let id = requestId.map { ", Apple's request id \($0)" } ?? ""
    return "\(endpoint.rawValue) of \(bundleId) in \(environment): \(what)\(id); \(next)"
  }

  /// What happened.
  public var what: String {
    switch reason {
    case .transport(let error): "\(error)"
    case .unauthorized(let skew):
      "Apple refused the token (401)"
        + (skew.flatMap(Self.text(skew:)).map { ", and this clock is \($0) Apple's" } ?? "")
    case .limited(let milliseconds):
      "too many requests (429); the next may be sent in \((milliseconds + 999) / 1000) s"
    case .code(let code): "error \(code)"
    case .status(let status): "status \(status)"
    case .answer(let fault): "an answer that is not as documented: \(fault)"
    case .signing(let error): "\(error)"
    case .unavailable: "Apple has no such call in this environment"
    case .cancelled: "stopped"
    }
  }

  /// What to do about it.
  public var next: String {
    switch reason {
    case .transport(.resolve): "check the name server and appStore in the configuration"
    case .transport(.tls): "check ca-certificates, and what answers at that address"
    case .transport: "check the network; try again"
    case .unauthorized: Self.causes
    case .limited, .answer: "try again later"
    case .status(401): Self.causes
    case .status(let status) where status >= 500: "try again later"
    case .status: "check the addresses of appStore in the configuration"
    case .code(let code): Self.next(code)
    case .signing: "check appStore.keyFile in the configuration"
    case .unavailable: "ask in Production"
    case .cancelled: "run it again"
    }
  }

  private static let causes = """
    the usual causes: keyId, issuerId, keyFile and the app's bundleId do not belong together; the \
    key is no In-App Purchase key, or it is revoked; the app was never released, and has no \
    Production yet; this clock is wrong
    """

  private static func next(_ code: ErrorCode) -> String {
    switch code.action {
    case .again, .seldom, .wait, .later: "try again later"
    case .restart: "begin again with the first page"
    case .elsewhere: "Apple does not know the id here; ask in the other environment"
    case .report where code == .serverNotificationURLNotFound:
      "enter the URL in App Store Connect, App Information, App Store Server Notifications"
    case .report: "check the id"
    }
  }

  /// Nil for a difference that does not matter.
  private static func text(skew: Int64) -> String? {
    guard skew.magnitude > 30_000 else { return nil }
    return "\(skew.magnitude / 1000) s " + (skew > 0 ? "ahead of" : "behind")
  }
}
