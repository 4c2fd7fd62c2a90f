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
  /// What a refusal is about, for the words of its answer.
  enum Subject: Sendable { case notification, transaction, receipt, statement }

  /// - Parameters:
  ///   - outcome: what became of it, if that is more than being refused.
  ///   - finding: what the body seems to be, if that is not what is wanted.
  static func response(
    _ refusal: Refusal, to subject: Subject = .statement, _ outcome: Outcome? = nil,
    finding: BodyFinding? = nil
  ) -> HTTPResponse {
    let entry = RefusalEntry.of(refusal.code, status: status(of: refusal))
    let meaning =
      if case .malformed = refusal, finding != nil { subject.wish } else { entry?.meaning }
    return response(
      status(of: refusal), refusal.code,
      [meaning, storage(refusal, subject, outcome), finding?.text ?? entry?.next],
      retryAfter: retryAfter(refusal))
  }

  private static func retryAfter(_ refusal: Refusal) -> Int? {
    guard case .unavailable(let code) = refusal else { return nil }
    return code == "disk_full" ? 30 : 1
  }

  /// What is kept of something genuine that is not admitted; nil where nothing ever is.
  private static func storage(
    _ refusal: Refusal, _ subject: Subject, _ outcome: Outcome?
  ) -> String? {
    guard case .notAdmitted = refusal, subject != .statement else { return nil }
    let start = "The \(subject) is genuine but not admitted; "
    return switch outcome {
    case .quarantined: start + "it is stored in quarantine."
    case .quarantineFull: start + "it is not stored: quarantine is full."
    default: start + "it is not stored."
    }
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
        503, "rows_not_ready", "The projection's state is \(error.detail).", retryAfter: 1)
    case .ambiguous: response(400, "bundle_id")
    case .tooLong: response(Refusal.unavailable("too_long"))
    case .stopped: response(Refusal.unavailable("shutting_down"))
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
    JSONMember(
      "code", .text("The reason, for programs, stable across releases; x-refusals lists them.")
    ) {
      $0.code
    },
    JSONMember("retryable", .boolean("Whether the same request may succeed later.")) {
      RefusalEntry.retryable.contains($0.status)
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

  /// The answer of a code of the table.
  ///
  /// - Parameter more: what is said beside its meaning.
  static func response(
    _ status: Int, _ code: String, _ more: String? = nil, retryAfter seconds: Int? = nil,
    closes: Bool = false, fault: ParameterFault? = nil
  ) -> HTTPResponse {
    let entry = RefusalEntry.of(code, status: status)
    return response(
      status, code, [entry?.meaning, more, entry?.next], retryAfter: seconds, closes: closes,
      fault: fault)
  }

  /// - Parameter sentences: of the detail; those that are nil or empty are left out.
  private static func response(
    _ status: Int, _ code: String, _ sentences: [String?], retryAfter seconds: Int?,
    closes: Bool = false, fault: ParameterFault? = nil
  ) -> HTTPResponse {
    let detail = sentences.compactMap(\.self).filter { !$0.isEmpty }.joined(separator: " ")
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
  static let noSuchRoute = response(404, "no_such_route")
  static let noSuchEntitlement = response(404, "no_such_entitlement")
  static let notSignedThen = response(404, "not_signed_then")
  /// Only for tokens that cover both environments.
  static let wrongEnvironment = response(404, "wrong_environment")
  static let noSuchAccount = response(404, "no_such_account")
  static let noSuchGrant = response(404, "no_such_grant")
  static let noSuchRefundRequest = response(404, "no_such_refund_request")
  static let reusedKey = response(422, "idempotency_key")
  /// For commands: there is no projection, or no quarantined notification, of this name.
  static let nothingThere = response(404, "not_found")
  static let otherHistory = response(410, "other_history")
  static let noKey = response(404, "no_key")
  static let noComparison = response(404, "no_comparison")
  static let noSuchReport = response(404, "no_such_report")
  static let notAllowed = response(403, "not_allowed")
  static let mediaType = response(415, "media_type")

  /// The answer to a parameter of the query, or of the path.
  static func response(_ fault: ParameterFault) -> HTTPResponse {
    response(400, "query", fault: fault)
  }

  /// The answer to a member of the body.
  static func response(toBody fault: ParameterFault) -> HTTPResponse {
    response(400, "body", fault: fault)
  }

  static func unauthorized() -> HTTPResponse {
    var problem = response(401, "token")
    problem.headers.append((name: "WWW-Authenticate", value: "Bearer"))
    return problem
  }

  static func methodNotAllowed(_ allowed: String) -> HTTPResponse {
    var problem = response(405, "method")
    problem.headers.append((name: "Allow", value: allowed))
    return problem
  }

  /// The response to a request that the transport refuses by itself.
  static func transport(_ status: Int) -> HTTPResponse {
    response(
      status, transportCodes[status] ?? "http", retryAfter: status == 503 ? 1 : nil, closes: true)
  }

  private static let transportCodes = [
    408: "timeout", 411: "length_required", 413: "too_large", 414: "target_too_long",
    417: "expectation", 431: "header_too_large", 503: "overload", 505: "version",
  ]
}
