import Platform
import StrictJSON
import SubscriptionLedger

/// The read routes: rows, lists of rows, timelines.
enum EntitlementRoutes {
  static let rowNames: Set<String> = ["environment", "bundle_id", "as_of", "known_at"]
  static let historyNames = rowNames.union(["raw"])
  static let listNames: Set<String> = [
    "app_account_token", "app_transaction_id", "product_id", "status", "environment", "bundle_id",
    "limit", "after",
  ]
  static let badQuery = Problem.response(
    400, "query", "A query parameter is unknown, occurs twice, or has a value that cannot be.")

  private static let environments: Set<String> = ["Production", "Sandbox"]
  private static let defaultLimit: Int64 = 50
  private static let maximumLimit: Int64 = 500

  static func row(
    _ id: String, _ query: QueryString, _ token: Configuration.ReadToken, _ reader: LedgerReader
  ) throws(LedgerReader.Failure) -> HTTPResponse {
    guard let (question, environment) = question(query, token) else { return badQuery }
    let document = try reader.entitlement(
      id, environment: environment, bundleId: query["bundle_id"], question)
    return document.map { LedgerHandler.json($0.json) } ?? Problem.notFound
  }

  static func history(
    _ id: String, _ query: QueryString, _ token: Configuration.ReadToken, _ reader: LedgerReader
  ) throws(LedgerReader.Failure) -> HTTPResponse {
    guard let (question, environment) = question(query, token),
      let isRaw = ["true": true, "false": false][query["raw"] ?? "false"]
    else { return badQuery }
    let history = try reader.history(
      id, environment: environment, bundleId: query["bundle_id"], question, isRaw: isRaw)
    return history.map { LedgerHandler.json($0.json) } ?? Problem.notFound
  }

  static func list(
    _ query: QueryString, _ token: Configuration.ReadToken, _ reader: LedgerReader
  ) throws(LedgerReader.Failure) -> HTTPResponse {
    var filter = LedgerReader.Filter()
    // Account tokens are UUIDs, and Apple writes them in lower case.
    filter.appAccountToken = query["app_account_token"]?.lowercased()
    filter.appTransactionId = query["app_transaction_id"]
    filter.productId = query["product_id"]
    filter.bundleId = query["bundle_id"]
    filter.environment = query["environment"]
    guard environments.contains(filter.environment ?? "Production") else { return badQuery }
    if let name = query["status"], !filter.setStatus(name) { return badQuery }
    // Digits alone: `Int64` takes a sign as well.
    let limit = query["limit"].map { $0.first == "+" ? nil : Int64($0) } ?? defaultLimit
    guard let limit, (1...maximumLimit).contains(limit) else { return badQuery }
    let after = query["after"].map { PageCursor.key($0, for: token) }
    if case .some(.none) = after { return badQuery }
    let question = LedgerReader.Question(
      asOf: nil, knownAt: nil, now: Clock.now(), token: token)
    let page = try reader.list(filter, after: after ?? nil, limit: Int(limit), question)
    return LedgerHandler.json([
      ("object", .string("list")), ("items", .array(page.rows.map(\.json))),
      ("next_page", .optional(page.next.map { PageCursor.text($0, for: token) })),
    ])
  }

  /// The clocks and the environment of a query; nil where a value cannot be.
  private static func question(
    _ query: QueryString, _ token: Configuration.ReadToken
  ) -> (LedgerReader.Question, String)? {
    let environment = query["environment"] ?? "Production"
    guard environments.contains(environment) else { return nil }
    var clocks: [Int64?] = []
    for name in ["as_of", "known_at"] {
      guard let text = query[name] else {
        clocks.append(nil)
        continue
      }
      guard let time = Timestamp.parse(text) else { return nil }
      clocks.append(time)
    }
    let question = LedgerReader.Question(
      asOf: clocks[0], knownAt: clocks[1], now: Clock.now(), token: token)
    return (question, environment)
  }
}
