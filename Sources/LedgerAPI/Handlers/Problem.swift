import HTTPServer
import LedgerEngine
import StrictJSON

/// The one table of refusals and statuses (RFC 9457 problem details).
///
/// 4xx is for what can never become valid; whatever might be our fault is 503, so that Apple comes
/// again. An answer never repeats bytes of the request.
enum Problem {
  static func response(_ refusal: Refusal) -> HTTPResponse {
    switch refusal {
    case .malformed(let code):
      response(400, code, "The request is malformed and will not become valid.")
    case .untrusted(let code):
      response(401, code, "Nothing we trust vouches for this notification.")
    case .notAdmitted(let code):
      response(422, code, "Genuine, but not admitted here; it is kept in quarantine.")
    case .unavailable(let code):
      response(503, code, "Not now. Send it again.", retryAfter: code == "disk_full" ? 30 : 1)
    }
  }

  static func response(
    _ status: Int, _ code: String, _ detail: String, retryAfter seconds: Int? = nil,
    closes: Bool = false
  ) -> HTTPResponse {
    let body = JSONValue.object([
      ("type", .string("urn:subledger:problem:\(code)")),
      ("title", .string(HTTPResponse.reason(of: status))), ("status", .integer(Int64(status))),
      ("detail", .string(detail)), ("code", .string(code)),
      ("retryable", .boolean(status == 503 || status == 408)),
    ])
    var headers = [(name: "Content-Type", value: "application/problem+json")]
    if let seconds { headers.append((name: "Retry-After", value: String(seconds))) }
    var answer = HTTPResponse(
      status: status, headers: headers, body: body.bytes, closes: closes)
    answer.code = code
    return answer
  }

  static let notFound = response(404, "not_found", "There is nothing here for you.")

  static func unauthorized() -> HTTPResponse {
    var answer = response(401, "token", "Send Authorization: Bearer and a read token.")
    answer.headers.append((name: "WWW-Authenticate", value: "Bearer"))
    return answer
  }

  static func methodNotAllowed(_ allowed: String) -> HTTPResponse {
    var answer = response(405, "method", "This route takes \(allowed).")
    answer.headers.append((name: "Allow", value: allowed))
    return answer
  }

  /// What the transport refuses by itself.
  static func transport(_ status: Int) -> HTTPResponse {
    let (code, detail) =
      switch status {
      case 400: ("http", "This is not strict HTTP/1.1 (RFC 9112).")
      case 408: ("timeout", "The request did not arrive in time.")
      case 411: ("length_required", "Send Content-Length.")
      case 413: ("too_large", "The body is larger than is taken here.")
      case 414: ("target_too_long", "The request target is too long.")
      case 417: ("expectation", "Only 100-continue can be expected.")
      case 431: ("header_too_large", "The header is too large.")
      case 503: ("overload", "Too many connections. Come again.")
      case 505: ("version", "Only HTTP/1.1 is spoken here.")
      default: ("http", "The request was refused.")
      }
    return response(
      status, code, detail, retryAfter: status == 503 ? 1 : nil, closes: true)
  }
}
