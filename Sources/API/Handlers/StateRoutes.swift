import HTTPServer
import Ledger
import Platform
import Queries
import Store
import StrictJSON

/// The routes about the daemon itself: ready, version, metrics.
extension LedgerHandler {
  /// `GET /readyz`: 503 with the reason while notifications should be sent elsewhere or later. The
  /// state of the projection is no reason: notifications are taken in every one. Neither is a
  /// mapping of products that is not the configured one, which is named.
  func ready() -> HTTPResponse {
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
  func version(_ admitted: AdmittedRequest, through sender: ResponseSender) -> HTTPResponse? {
    let answer = Answers.Version(versions: service.versions, token: admitted.token)
    guard let token = admitted.token, token.coversEverything else {
      return .json(Answers.version.json(answer))
    }
    // The digest of the live projection, as far as it is folded; null while there is none.
    return service.answer(.short, admitted.route, token, through: sender) { reader in
      var answer = answer
      answer.digest = (try? reader.digest()) ?? nil
      return .json(Answers.version.json(answer))
    }
  }

  /// `GET /metrics`.
  func metrics(_ admitted: AdmittedRequest, through sender: ResponseSender) -> HTTPResponse? {
    guard let token = admitted.token else { return Problem.unauthorized() }
    return service.answer(.short, admitted.route, token, through: sender) { [service] reader in
      let text = service.metricsText(for: token, folded: try? reader.foldedThrough())
      return HTTPResponse(
        status: 200, headers: [(name: "Content-Type", value: "text/plain; version=0.0.4")],
        body: Array(text.utf8))
    }
  }
}
