import Configuration
import HTTPServer
import JournalStore
import LedgerEngine
import LedgerQueries
import StrictJSON

/// The routes about the daemon itself: ready, version, metrics.
extension LedgerHandler {
  /// `GET /readyz`: 503 with the reason while notifications should be sent elsewhere or later. The
  /// state of the projection is no reason: notifications are taken in every one.
  func ready() -> HTTPResponse {
    if let reason = service.unreadyReason(minimumFree: Int64(configuration.limits.diskBytes)) {
      guard reason == "shared_journal", let failure = service.ledger.copy?.failure else {
        return Problem.response(.unavailable(reason))
      }
      return Problem.response(503, reason, failure.description, retryAfter: 1)
    }
    let faults = service.ledger.copy?.faults ?? .none
    return .json(
      [
        ("status", .string("ready")),
        ("projection", .string(service.ledger.liveProjection.state.rawValue)),
      ] + (faults == .none ? [] : [("shared_journal", .object(faults.members))]))
  }

  /// `GET /version`. The digest tells of every event, so it is only for tokens that cover all.
  func version(_ admitted: AdmittedRequest) -> HTTPResponse {
    // The digest of the live projection, as far as it is folded; null while there is none.
    let isShown = admitted.token?.coversEverything ?? false
    let digest = isShown ? (try? ledgerReader().digest()).flatMap { $0 } : nil
    return .json(service.version + [("digest", .optional(digest))])
  }

  /// `GET /metrics`.
  func metrics(_ admitted: AdmittedRequest) -> HTTPResponse {
    guard let token = admitted.token else { return Problem.unauthorized() }
    let text = service.metricsText(for: token, folded: try? ledgerReader().foldedThrough())
    return HTTPResponse(
      status: 200, headers: [(name: "Content-Type", value: "text/plain; version=0.0.4")],
      body: Array(text.utf8))
  }
}
