import HTTPServer
import Ledger
import Platform
import Queries
import Store
import StrictJSON

/// The one mapping of refusals to HTTP statuses (RFC 9457 problem details).
///
/// 4xx is for requests that can never become valid; everything that might be our fault is 503, so
/// that Apple sends it again. A response never repeats bytes of the request.
enum Problem {
  static func response(_ refusal: Refusal) -> HTTPResponse {
    switch refusal {
    case .malformed(let code):
      response(status(of: refusal), code, "The request is malformed and will never be valid.")
    case .untrusted(let code):
      response(
        status(of: refusal), code,
        "No configured trust root or shared secret authenticates this notification.")
    case .notAdmitted(let code):
      response(
        status(of: refusal), code,
        "The notification is genuine but not admitted; it is stored in quarantine.")
    case .notFound(noSuchGrant.code): noSuchGrant
    case .notFound: noSuchEntitlement
    case .unavailable(let code):
      response(
        status(of: refusal), code,
        "The service is not available now. Send the request again later.",
        retryAfter: code == "disk_full" ? 30 : 1)
    }
  }

  /// The answer to what was not taken.
  static func response(_ outcome: Outcome, _ refusal: Refusal) -> HTTPResponse {
    guard case .quarantineFull(let code) = outcome else { return response(refusal) }
    return response(
      status(of: refusal), code,
      "The notification is genuine but not admitted. It is not stored: quarantine is full.")
  }

  static func status(of refusal: Refusal) -> Int {
    switch refusal {
    case .malformed: 400
    case .untrusted: 401
    case .notAdmitted: 422
    case .notFound: 404
    case .unavailable: 503
    }
  }

  static func response(to error: LedgerError) -> HTTPResponse {
    switch error.code {
    case .notReady:
      response(
        503, "rows_not_ready",
        "No rows can be listed yet: the projection's state is \(error.detail).", retryAfter: 1)
    case .ambiguous: response(400, "bundle_id", "Two apps have this id; set bundle_id.")
    default: response(Refusal.unavailable("store"))
    }
  }

  typealias Members = (status: Int, code: String, detail: String, fault: ParameterFault?)

  /// RFC 9457.
  static let object = JSONObject<Members>([
    JSONMember("type", .text("A URN that contains the code.")) {
      "urn:subledger:problem:\($0.code)"
    },
    JSONMember("title", .text()) { HTTPResponse.reason(of: $0.status) },
    JSONMember("status", .integer("The HTTP status of the response.")) { $0.status },
    JSONMember("detail", .text()) { $0.detail },
    JSONMember("code", .text("The reason, for programs; it is stable across releases.")) {
      $0.code
    },
    JSONMember("retryable", .boolean("Whether the same request may succeed later.")) {
      [503, 408].contains($0.status)
    },
    .ifAny(
      "reason",
      .oneOf(
        ParameterFault.Reason.allCases.map(\.rawValue), "What is wrong with the parameter.")
    ) { $0.fault?.reason.rawValue },
    .ifAny(
      "parameter", .text("The parameter or member that is wrong; null if its name is unknown.")
    ) { $0.fault.map(\.parameter) },
    .ifAny("position", .integer("Which parameter of the query is wrong, counted from 1.")) {
      $0.fault.map(\.position)
    },
    .ifAny("expected", .anything("A JSON Schema of the values or names that are valid; or null.")) {
      $0.fault.map { $0.expected?.json ?? .null }
    },
  ])

  static func response(
    _ status: Int, _ code: String, _ detail: String, retryAfter seconds: Int? = nil,
    closes: Bool = false, fault: ParameterFault? = nil
  ) -> HTTPResponse {
    var headers = [(name: "Content-Type", value: "application/problem+json")]
    if let seconds { headers.append((name: "Retry-After", value: String(seconds))) }
    var problem = HTTPResponse(
      status: status, headers: headers,
      body: object.json((status, code, detail, fault)).bytes + [0x0A],
      closes: closes)
    problem.code = code
    return problem
  }

  /// Nothing is said about customers: the path is one that the program does not have.
  static let noSuchRoute = response(
    404, "no_such_route", "There is no such path; /openapi.json lists all.")

  static let noSuchEntitlement = response(
    404, "no_such_entitlement",
    "Nothing is known under this id in this environment, or the token may not read it.")

  /// Only for tokens that cover both environments.
  static let wrongEnvironment = response(
    404, "wrong_environment",
    "The id is known in the other environment alone; set the parameter environment.")

  static let noSuchAccount = response(404, "no_such_account", "No account has this name.")

  static let noSuchGrant = response(
    404, "no_such_grant", "This customer has no grant of this id here.")

  static let reusedKey = response(
    422, "idempotency_key",
    "This Idempotency-Key came with another statement before; nothing is stored.")

  /// For commands: there is no projection, or no quarantined notification, of this name.
  static let nothingThere = response(404, "not_found", "There is nothing to do this with.")

  static let otherHistory = response(
    410, "other_history",
    "The cursor is of another history of the journal, as after a restore: go on from an older "
      + "cursor, or from received: and a time.")

  static let noComparison = response(404, "no_comparison", "No comparison is stored.")

  static let notAllowed = response(
    403, "not_allowed", "The token may not do this: \"may\" in its configuration says what it may.")

  /// The answer to a transaction that is refused.
  static func response(toTransaction refusal: Refusal) -> HTTPResponse {
    let status = status(of: refusal)
    switch refusal {
    case .untrusted("xcode_signature"):
      return response(
        status, refusal.code, "Xcode signed this transaction for a local test, Apple did not.")
    case .untrusted:
      return response(
        status, refusal.code, "No configured trust root authenticates this transaction.")
    case .notAdmitted:
      return response(
        status, refusal.code,
        "The transaction is genuine, but not admitted for the reason in `code`. It is not stored.")
    case .malformed, .notFound, .unavailable: return response(refusal)
    }
  }

  /// The answer to a receipt that is refused and not stored.
  static func response(toReceipt refusal: Refusal) -> HTTPResponse {
    let status = status(of: refusal)
    switch refusal {
    case .untrusted:
      return response(
        status, refusal.code, "No configured trust root authenticates this receipt.")
    case .notAdmitted:
      return response(
        status, refusal.code,
        "The receipt is genuine, but of another environment than expected. It is not stored.")
    case .malformed, .notFound, .unavailable: return response(refusal)
    }
  }

  static let mediaType = response(
    415, "media_type", "Send application/json in UTF-8, uncompressed.")

  static let badQuery = response(400, "query", badQueryDetail)
  private static let badQueryDetail =
    "A query parameter is unknown, repeated, or has an invalid value: parameter names it unless it "
    + "is unknown, expected says what is valid, position counts from 1."

  static let malformedBody = response(400, "body", badBodyDetail)
  private static let badBodyDetail =
    "The body is no JSON object, or a member of it is unknown, missing or invalid: parameter names "
    + "it, expected says what is valid."

  /// The answer to a parameter of the query, or of the path.
  static func response(_ fault: ParameterFault) -> HTTPResponse {
    response(400, "query", badQueryDetail, fault: fault)
  }

  /// The answer to a member of the body.
  static func response(toBody fault: ParameterFault) -> HTTPResponse {
    response(400, "body", badBodyDetail, fault: fault)
  }

  static func unauthorized() -> HTTPResponse {
    var problem = response(401, "token", "Send Authorization: Bearer and a read token.")
    problem.headers.append((name: "WWW-Authenticate", value: "Bearer"))
    return problem
  }

  static func methodNotAllowed(_ allowed: String) -> HTTPResponse {
    var problem = response(405, "method", "This route accepts only \(allowed).")
    problem.headers.append((name: "Allow", value: allowed))
    return problem
  }

  /// The response to a request that the transport refuses by itself.
  static func transport(_ status: Int) -> HTTPResponse {
    let (code, detail) =
      switch status {
      case 400: ("http", "The request does not follow HTTP/1.1 (RFC 9112) strictly.")
      case 408: ("timeout", "The request did not arrive in time.")
      case 411: ("length_required", "Send Content-Length.")
      case 413: ("too_large", "The body is too large.")
      case 414: ("target_too_long", "The request target is too long.")
      case 417: ("expectation", "The only supported expectation is 100-continue.")
      case 431: ("header_too_large", "The header is too large.")
      case 503:
        ("overload", "The server is overloaded or did not answer in time. Try again later.")
      case 505: ("version", "Only HTTP/1.0 and HTTP/1.1 are supported.")
      default: ("http", "The request was refused.")
      }
    return response(
      status, code, detail, retryAfter: status == 503 ? 1 : nil, closes: true)
  }
}
