import AppStore
import Configuration
import HTTPServer
import JournalStore
import LedgerEngine
import LedgerQueries
import Observability
import Platform
import StrictJSON

/// The routes about customers: rows, lists of rows, timelines.
extension LedgerHandler {
  /// Answers a read, and counts a refusal.
  ///
  /// - Returns: nil if `sender` sends the answer later.
  func read(
    _ admitted: AdmittedRequest, _ request: HTTPRequest, through sender: ResponseSender
  ) -> HTTPResponse? {
    guard let response = readUncounted(admitted, request, through: sender) else { return nil }
    // A 404 is a usual answer to a usual question: it is counted but not logged.
    if response.status >= 400 { record(response, isLogged: response.status != 404) }
    return response
  }

  private func readUncounted(
    _ admitted: AdmittedRequest, _ request: HTTPRequest, through sender: ResponseSender
  ) -> HTTPResponse? {
    guard let token = admitted.token else { return Problem.unauthorized() }
    let query: QueryString
    do throws(ParameterFault) {
      query = try QueryString(request.query, of: admitted.route)
    } catch {
      return Problem.response(error)
    }
    do throws(LedgerReader.Failure) {
      let reader = try ledgerReader()
      switch admitted.route.name {
      case .entitlement:
        return try EntitlementRoutes.row(admitted.id, request, query, token, reader)
      case .history: return try EntitlementRoutes.history(admitted.id, query, token, reader)
      default:
        if reader.isListQuick {
          return try EntitlementRoutes.list(admitted.route, query, token, reader)
        }
        return listLater(admitted.route, query, token, through: sender)
      }
    } catch {
      return Self.problem(error)
    }
  }

  /// Lists rows on another thread, while that may take longer than a reactor should wait.
  private func listLater(
    _ route: Route, _ query: QueryString, _ token: Configuration.ReadToken,
    through sender: ResponseSender
  ) -> HTTPResponse? {
    let service = service
    let isQueued = service.overview.perform(service.configuration) { reader in
      let response: HTTPResponse
      do throws(LedgerReader.Failure) {
        guard let reader else { throw .store(.busy) }
        response = try EntitlementRoutes.list(route, query, token, reader)
      } catch {
        response = Self.problem(error)
        service.metrics.httpRefusals.add(response.status)
      }
      sender.send(response)
    }
    return isQueued ? nil : Problem.response(.unavailable("overload"))
  }

  /// Logs a failure of the store, and returns the response to a read that failed.
  static func problem(_ failure: LedgerReader.Failure) -> HTTPResponse {
    if case .store = failure { Log.write(.error, "read", [("code", .string("store"))]) }
    return Problem.response(failure)
  }
}

/// Each read of a customer: the query is checked against the table of routes, the token is known.
enum EntitlementRoutes {
  /// One entitlement, now or at an earlier time.
  static func row(
    _ id: String, _ request: HTTPRequest, _ query: QueryString, _ token: Configuration.ReadToken,
    _ reader: LedgerReader
  ) throws(LedgerReader.Failure) -> HTTPResponse {
    let document = try reader.entitlement(
      id, environment: query.environment ?? .production, bundleId: query["bundle_id"],
      question(query, token))
    return document.map { EntityTag.response($0.json, to: request) }
      ?? absent(id, query, token, reader)
  }

  /// The timeline of one customer.
  static func history(
    _ id: String, _ query: QueryString, _ token: Configuration.ReadToken, _ reader: LedgerReader
  ) throws(LedgerReader.Failure) -> HTTPResponse {
    let history = try reader.history(
      id, environment: query.environment ?? .production, bundleId: query["bundle_id"],
      question(query, token),
      isRaw: query.isTrue("raw"))
    return history.map { .json($0.json) } ?? absent(id, query, token, reader)
  }

  /// Why there is nothing under an id.
  private static func absent(
    _ id: String, _ query: QueryString, _ token: Configuration.ReadToken, _ reader: LedgerReader
  ) -> HTTPResponse {
    guard token.environments.map({ $0.isSuperset(of: Environment.all) }) ?? true else {
      return Problem.noSuchEntitlement
    }
    let asked = query.environment ?? .production
    do throws(LedgerReader.Failure) {
      let other = try reader.entitlement(
        id, environment: asked == .production ? .sandbox : .production,
        bundleId: query["bundle_id"], question(query, token))
      return other == nil ? Problem.noSuchEntitlement : Problem.wrongEnvironment
    } catch {
      return Problem.noSuchEntitlement
    }
  }

  /// A page of entitlements. A cursor is valid only for the token that it was given to.
  static func list(
    _ route: Route, _ query: QueryString, _ token: Configuration.ReadToken, _ reader: LedgerReader
  ) throws(LedgerReader.Failure) -> HTTPResponse {
    var filter = LedgerReader.Filter()
    // Account tokens are UUIDs, and Apple writes them in lower case.
    filter.appAccountToken = query["app_account_token"]?.lowercased()
    filter.appTransactionId = query["app_transaction_id"]
    filter.productId = query["product_id"]
    filter.bundleId = query["bundle_id"]
    filter.environment = query.environment
    _ = query["status"].map { filter.setStatus($0) }
    let after = query["after"].map { PageCursor.key($0, for: token) }
    if case .some(.none) = after { return Problem.response(.after) }
    let question = LedgerReader.Question(
      asOf: nil, knownAt: nil, now: Clock.now(), token: token)
    let page = try reader.list(
      filter, after: after ?? nil, limit: Int(query.integer("limit", of: route)), question)
    return .json([
      ("object", .string("list")), ("items", .array(page.rows.map(\.json))),
      ("next_page", .optional(page.next.map { PageCursor.text($0, for: token) })),
      ("fold_version", .integer(Int64(page.foldVersion))),
    ])
  }

  private static func question(
    _ query: QueryString, _ token: Configuration.ReadToken
  ) -> LedgerReader.Question {
    LedgerReader.Question(
      asOf: query.time("as_of"), knownAt: query.time("known_at"), now: Clock.now(), token: token)
  }
}
