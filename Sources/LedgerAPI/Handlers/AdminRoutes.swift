import Configuration
import HTTPServer
import LedgerEngine
import LedgerQueries
import Platform
import StrictJSON

/// The routes about the whole: overview, quarantine, the last comparison.
extension LedgerHandler {
  func look(_ route: Route, _ request: HTTPRequest, through answer: Answer) -> HTTPResponse? {
    guard let token = access.token(authorization: request.headers.all("Authorization")) else {
      return Problem.unauthorized()
    }
    guard let query = QueryString(request.query, of: route) else {
      return EntitlementRoutes.badQuery
    }
    switch route.name {
    case .overview:
      let question = Overview.Question(
        hours: query.integer("hours", of: route), now: Clock.now(),
        environment: query["environment"], bundleId: query["bundle_id"], token: token)
      service.overview.ask(question, service.configuration) { found in
        answer.send(found.map { Self.json($0) } ?? Problem.response(.unavailable("overview")))
      }
      return nil
    case .comparison: return comparison(token)
    default: return quarantine(route, query, token)
    }
  }

  private func comparison(_ token: Configuration.ReadToken) -> HTTPResponse {
    do {
      let kept = try StoredDiff.kept(service.ledger.folder, for: token)
      return kept.map { Self.json($0) } ?? Problem.notFound
    } catch {
      return Self.problem(.store(error))
    }
  }

  private func quarantine(
    _ route: Route, _ query: QueryString, _ token: Configuration.ReadToken
  ) -> HTTPResponse {
    // Ids count from 1, newest last; a page goes on below the last one it showed.
    let start = query["after"].map { Int64($0).flatMap { $0 > 0 ? $0 : nil } }
    if case .some(.none) = start { return EntitlementRoutes.badQuery }
    do throws(LedgerReader.Failure) {
      let page = try ledgerReader().quarantine(
        through: (start ?? nil).map { $0 - 1 } ?? .max,
        limit: Int(query.integer("limit", of: route)), for: token)
      return Self.json([
        ("object", .string("list")), ("items", .array(page.items.map(\.json))),
        ("next_page", .optional(page.next.map(String.init))),
      ])
    } catch {
      return Self.problem(error)
    }
  }
}
