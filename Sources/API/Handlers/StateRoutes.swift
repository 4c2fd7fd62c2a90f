import HTTPServer
import Ledger
import Platform
import Queries
import Store
import StrictJSON

/// The routes about the daemon itself: alive, ready, version, metrics, the document of all routes.
extension Route {
  static let healthz = Route(
    "getHealth", .daemon, "GET", "/healthz", .anyone, "Returns whether the process is alive.",
    replies: [.answer("The process is alive.", "State")], answer: LedgerHandler.getHealth)

  static let readyz = Route(
    "getReadiness", .daemon, "GET", "/readyz", .anyone,
    "Returns whether notifications are accepted.",
    replies: [.answer("Notifications are accepted.", "Ready"), .unavailable],
    answer: LedgerHandler.getReadiness)

  static let version = Route(
    "getVersion", .daemon, "GET", "/version", .anyone,
    "Returns the versions of the program, its fold and its libraries.",
    replies: [.answer("The versions.", "Version")], answer: LedgerHandler.getVersion)

  static let metrics = Route(
    "getMetrics", .daemon, "GET", "/metrics", .token(.read, .metrics),
    "Returns counters and gauges in Prometheus text format.",
    replies: [Reply(200, "The metrics.", .text("text/plain")), .unauthorized, .notAllowed],
    answer: LedgerHandler.getMetrics)

  static let openAPI = Route(
    "getOpenAPI", .daemon, "GET", "/openapi.json", .anyone,
    "Returns the OpenAPI document of these routes.",
    replies: [
      Reply(
        200, "This document, in OpenAPI 3.1.",
        .json(.open([("openapi", .text(""))], required: ["openapi"], "")))
    ], answer: LedgerHandler.getOpenAPI)
}

extension LedgerHandler {
  fileprivate func getHealth(_ call: Call) -> HTTPResponse? { .json(Answers.state.json("alive")) }

  fileprivate func getOpenAPI(_ call: Call) -> HTTPResponse? { service.openAPI }

  /// `GET /readyz`: 503 with the reason while notifications should be sent elsewhere or later. The
  /// state of the projection is no reason: notifications are taken in every one. Neither is a
  /// mapping of products that is not the configured one, which is named.
  fileprivate func getReadiness(_ call: Call) -> HTTPResponse? {
    if let reason = service.unreadyReason(minimumFree: Int64(configuration.limits.diskBytes)) {
      guard reason == "shared_journal", let failure = service.ledger.copy?.failure else {
        return Problem.response(.unavailable(reason))
      }
      return Problem.response(503, reason, failure.description, retryAfter: 1)
    }
    let faults = service.ledger.copy?.faults ?? .none
    let ahead = service.ledger.receivedAhead(of: Clock.now())
    let others = service.mappingStatus?.others ?? []
    return .json(Answers.ready.json((service.ledger.liveProjection.state, ahead, faults, others)))
  }

  /// `GET /version`. The digest tells of every event, so it is only for tokens that cover all.
  fileprivate func getVersion(_ call: Call) -> HTTPResponse? {
    let answer = Answers.Version(versions: service.versions, token: call.token)
    guard call.token.coversEverything else { return .json(Answers.version.json(answer)) }
    // The digest of the live projection, as far as it is folded; null while there is none.
    return service.answer(.short, call) { reader in
      var answer = answer
      answer.digest = (try? reader.digest()) ?? nil
      return .json(Answers.version.json(answer))
    }
  }

  /// `GET /metrics`.
  fileprivate func getMetrics(_ call: Call) -> HTTPResponse? {
    service.answer(.short, call) { [service] reader in
      let text = service.metricsText(for: call.token, folded: try? reader.foldedThrough())
      return HTTPResponse(
        status: 200, headers: [(name: "Content-Type", value: "text/plain; version=0.0.4")],
        body: Array(text.utf8))
    }
  }
}
