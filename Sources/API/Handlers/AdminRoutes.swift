import AppStore
import Delivery
import HTTPServer
import Ledger
import Platform
import Queries
import Store
import StrictJSON

/// The routes about the whole ledger: overview, quarantine, the stored comparison.
extension LedgerHandler {
  /// Answers a read that covers the whole ledger, limited to what the token may read, and counts a
  /// refusal.
  func inspect(
    _ admitted: AdmittedRequest, _ request: HTTPRequest, through sender: ResponseSender
  ) -> HTTPResponse? {
    let response = inspectUncounted(admitted, request, through: sender)
    // A 404 is a usual answer, for example while no comparison is stored.
    if let response, response.status >= 400 { record(response, isLogged: response.status != 404) }
    return response
  }

  private func inspectUncounted(
    _ admitted: AdmittedRequest, _ request: HTTPRequest, through sender: ResponseSender
  ) -> HTTPResponse? {
    guard let token = admitted.token else { return Problem.unauthorized() }
    let route = admitted.route
    let query: QueryString
    do throws(ParameterFault) {
      query = try QueryString(request.query, of: route)
    } catch {
      return Problem.response(error)
    }
    switch route.name {
    case .overview:
      let question = Overview.Question(
        hours: query.integer("hours", of: route), now: Clock.now(),
        environment: query.environment,
        bundleId: query["bundle_id"], token: token)
      let service = service
      service.overview.ask(question, service.configuration) { found in
        if var found {
          found.recovery = service.recoveryOverview(of: question)
          found.refusedMapping = (service.mappingStatus?.refused ?? []).filter {
            question.covers($0.group.app.environment, $0.group.app.bundleId)
          }
          return sender.send(.json(Overview.Answer.object.json(found)))
        }
        let refusal = Problem.response(.unavailable("overview"))
        service.record(refusal)
        sender.send(refusal)
      }
      return nil
    case .comparison: return comparison(route, token, through: sender)
    case .sinks: return sinks(token)
    case .search: return search(route, query["id"] ?? "", token, through: sender)
    case .events: return feed(route, query, token, through: sender)
    default: return quarantine(route, query, token, through: sender)
    }
  }

  /// A page of the feed, at once or when there is something new; sent by another thread.
  func feed(
    _ route: Route, _ query: QueryString, _ token: Configuration.ReadToken,
    through sender: ResponseSender
  ) -> HTTPResponse? {
    let wait = query.integer("wait", of: route)
    let order = query["order"].flatMap(Feed.Order.init) ?? .oldest
    // Nothing new comes before what is known.
    guard wait == 0 || order == .oldest else {
      return Problem.response(
        ParameterFault(.invalid, "wait", expected: .integer(in: 0...0, default: 0)))
    }
    let usual = wait > 0 || order == .newest ? Feed.Place.end : .start
    var question = Feed.Question(
      query["after"].flatMap(Feed.place) ?? usual,
      limit: Int(query.integer("limit", of: route)), token: token)
    question.order = order
    (question.since, question.until) = (query.time("since"), query.time("until"))
    question.filter.notificationTypes = query.list("type")
    question.filter.sources = query.list("source").map(EventSource.init(rawValue:))
    question.filter.arrivals = query.list("arrival").compactMap(EventArrival.init)
    question.filter.subtype = query["subtype"]
    question.filter.environment = query.environment
    question.filter.bundleId = query["bundle_id"]
    question.filter.originalTransactionId = query["original_transaction_id"]
    question.include = Set(query.list("include").compactMap(Feed.Inclusion.init))
    let isQueued = service.feed.ask(question, of: route, seconds: wait, through: sender)
    return isQueued ? nil : Problem.response(.unavailable("overload"))
  }

  /// What every sink does. A sink tells of all apps.
  private func sinks(_ token: Configuration.ReadToken) -> HTTPResponse {
    guard token.coversEverything else { return Problem.notAllowed }
    return .json(Answers.sinks.json(service.deliveryStatuses))
  }

  /// The purchases that an id belongs to.
  private func search(
    _ route: Route, _ id: String, _ token: Configuration.ReadToken,
    through sender: ResponseSender
  ) -> HTTPResponse? {
    service.answer(.long, route, token, through: sender) { reader throws(LedgerError) in
      .json(
        Answers.found.json(
          try reader.purchases(
            withId: id,
            LedgerReader.Question(asOf: nil, knownAt: nil, now: Clock.now(), token: token))))
    }
  }

  /// The stored result of `rebuild --diff`.
  private func comparison(
    _ route: Route, _ token: Configuration.ReadToken, through sender: ResponseSender
  ) -> HTTPResponse? {
    service.answer(.long, route, token, through: sender) { [service] _ throws(LedgerError) in
      let stored = try StoredDiff.read(service.ledger.folder, for: token)
      return stored.map { .json(Comparison.object.json($0)) } ?? Problem.noComparison
    }
  }

  /// A page of the quarantine, newest first. The cursor is the id of the last item shown.
  private func quarantine(
    _ route: Route, _ query: QueryString, _ token: Configuration.ReadToken,
    through sender: ResponseSender
  ) -> HTTPResponse? {
    // Ids count from 1, the newest is the greatest; the next page continues below the last id.
    let start = query["after"].map { Int64($0).flatMap { $0 > 0 ? $0 : nil } }
    if case .some(.none) = start { return Problem.response(.after) }
    return service.answer(.long, route, token, through: sender) { reader throws(LedgerError) in
      let page = try reader.quarantine(
        through: (start ?? nil).map { $0 - 1 } ?? .max,
        QuarantineFilter(
          reason: query["reason"], bundleId: query["bundle_id"], environment: query.environment),
        limit: Int(query.integer("limit", of: route)), isRaw: query.isTrue("raw"), for: token)
      return .json(
        page.items.map(\.json), next: page.next.map(String.init), of: QuarantinedEntry.object)
    }
  }
}
