import Glibc

/// Why a request got no response. It names the leg that failed, and holds no part of request or
/// response.
public enum ClientError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The way of a request, in order.
  public enum Leg: String, Sendable, Equatable {
    case resolve = "resolving the name"
    case connect = "connecting"
    case tls = "the TLS handshake"
    case answer = "waiting for the answer"
    case body = "reading the answer"
  }

  /// The name of the host was not resolved.
  case resolve
  /// Every address of the host is one that may not be connected to.
  case address
  /// No connection was made, with errno; 0 if the system gave none.
  case connect(code: Int32)
  /// The TLS handshake or the check of the certificate failed, in curl's words.
  case tls(String)
  /// The time ran out during this leg.
  case timeout(Leg)
  /// The response is longer than this number of bytes.
  case tooLarge(limit: Int)
  /// The connection ended before the response did.
  case cutOff
  /// The response has a content encoding, which was not asked for.
  case encoded
  /// The response is not HTTP.
  case malformed
  /// The caller cancelled the request.
  case cancelled
  /// The value of a header field holds a control character, or its name is none ("?"); nothing was
  /// sent.
  case field(name: String)
  /// Another failure of curl, in its words.
  case failed(String)

  public var description: String {
    switch self {
    case .resolve: "the name of the host could not be resolved"
    case .address: "the address of the host may not be connected to"
    case .connect(0): "no connection"
    case .connect(let code): "no connection: \(String(cString: strerror(code)))"
    case .tls(let reason): "TLS failed: \(reason)"
    case .timeout(let leg): "timeout while \(leg.rawValue)"
    case .tooLarge(let limit): "the answer has more than \(limit) bytes"
    case .cutOff: "the connection ended before the answer did"
    case .encoded: "the answer is compressed, which was not asked for"
    case .malformed: "the answer is not HTTP"
    case .cancelled: "stopped"
    case .field(let name): "the header field \(name) cannot be sent"
    case .failed(let reason): reason
    }
  }
}
