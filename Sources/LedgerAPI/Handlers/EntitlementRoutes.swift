import Configuration
import HTTPServer
import LedgerQueries
import Platform
import StrictJSON

/// The routes about customers: rows, lists of rows, timelines. What a query says was held against
/// the table of routes before.
enum EntitlementRoutes {
  static let badQuery = Problem.response(
    400, "query", "A query parameter is unknown, occurs twice, or has a value that cannot be.")

  static func row(
    _ id: String, _ query: QueryString, _ token: Configuration.ReadToken, _ reader: LedgerReader
  ) throws(LedgerReader.Failure) -> HTTPResponse {
    let document = try reader.entitlement(
      id, environment: environment(query), bundleId: query["bundle_id"], question(query, token))
    return document.map { LedgerHandler.json($0.json) } ?? Problem.notFound
  }

  static func history(
    _ id: String, _ query: QueryString, _ token: Configuration.ReadToken, _ reader: LedgerReader
  ) throws(LedgerReader.Failure) -> HTTPResponse {
    let history = try reader.history(
      id, environment: environment(query), bundleId: query["bundle_id"], question(query, token),
      isRaw: query.isTrue("raw"))
    return history.map { LedgerHandler.json($0.json) } ?? Problem.notFound
  }

  static func list(
    _ route: Route, _ query: QueryString, _ token: Configuration.ReadToken, _ reader: LedgerReader
  ) throws(LedgerReader.Failure) -> HTTPResponse {
    var filter = LedgerReader.Filter()
    // Account tokens are UUIDs, and Apple writes them in lower case.
    filter.appAccountToken = query["app_account_token"]?.lowercased()
    filter.appTransactionId = query["app_transaction_id"]
    filter.productId = query["product_id"]
    filter.bundleId = query["bundle_id"]
    filter.environment = query["environment"]
    if let name = query["status"], !filter.setStatus(name) { return badQuery }
    let after = query["after"].map { PageCursor.key($0, for: token) }
    if case .some(.none) = after { return badQuery }
    let question = LedgerReader.Question(
      asOf: nil, knownAt: nil, now: Clock.now(), token: token)
    let page = try reader.list(
      filter, after: after ?? nil, limit: Int(query.integer("limit", of: route)), question)
    return LedgerHandler.json([
      ("object", .string("list")), ("items", .array(page.rows.map(\.json))),
      ("next_page", .optional(page.next.map { PageCursor.text($0, for: token) })),
    ])
  }

  private static func environment(_ query: QueryString) -> String {
    query["environment"] ?? "Production"
  }

  private static func question(
    _ query: QueryString, _ token: Configuration.ReadToken
  ) -> LedgerReader.Question {
    LedgerReader.Question(
      asOf: query.time("as_of"), knownAt: query.time("known_at"), now: Clock.now(), token: token)
  }
}
