import HTTPServer
import Simulator
import StrictJSON

/// Answers the requests of the App Store Server API that have passed the token check.
struct APIRoutes {
  let authority: SimulatedAuthority
  /// A history request may use up `lateItem`.
  var behaviour: Behaviour
  /// The simulated time, milliseconds since 1970.
  let moment: Int64
  /// Whether the app has an address for notifications.
  let hasNotificationURL: Bool

  /// The most items of a page (App Store Server API, all endpoints with pages).
  static let pageSize = 20

  /// The answer; nil if there is no such endpoint.
  ///
  /// - Throws: `APIError` for a request that Apple refuses.
  mutating func answer(
    _ request: HTTPRequest, _ facts: inout AppFacts
  ) throws(APIError) -> HTTPResponse? {
    let path = request.path.split(separator: "/").map { QueryItems.decoded($0) }
    guard path.first == "inApps", path.count >= 3 else { return nil }
    let query = QueryItems(request.query)
    let last = path[path.count - 1]
    switch (request.method, path[1...].dropLast().joined(separator: "/"), last) {
    case ("POST", "v1/notifications", "history"):
      guard request.headers.first("content-type")?.hasPrefix("application/json") == true
      else { return HTTPResponse(status: 415) }
      return try notificationHistory(request.body, query, &facts)
    case ("POST", "v1/notifications", "test"): return try requestTest(&facts)
    case ("GET", "v1/notifications/test", let token): return try testStatus(token, &facts)
    case ("GET", "v1/subscriptions", let id):
      return try statuses(try account(id, facts), query, facts)
    case ("GET", "v1/history", let id):
      return try transactionHistory(try account(id, facts), query, facts, omitsConsumables: true)
    case ("GET", "v2/history", let id):
      return try transactionHistory(try account(id, facts), query, facts)
    case ("GET", "v2/refund/lookup", let id): return try refunds(try account(id, facts), query)
    case ("GET", "v1/transactions/appTransactions", let id):
      return try appTransaction(try account(id, facts), facts)
    case ("GET", "v1/transactions", let id): return try transaction(id, facts)
    case ("GET", "v1/lookup", let id): return try lookUpOrder(id, facts)
    default: return nil
    }
  }

  /// - Throws: `APIError.invalidTransactionId` unless the id is a number;
  ///   `.transactionIdNotFound` if no customer has it.
  func account(_ id: String, _ facts: AppFacts) throws(APIError) -> CustomerAccount {
    guard !id.isEmpty, id.utf8.count <= 19, id.utf8.allSatisfy({ 0x30...0x39 ~= $0 }) else {
      throw .invalidTransactionId
    }
    guard let account = facts.account(with: id, at: moment) else { throw .transactionIdNotFound }
    return account
  }

  /// The JWS of a payload as it is now.
  func sign(_ payload: JSONValue) throws(APIError) -> JSONValue {
    do {
      let text = try authority.sign(payload: payload.bytes)
      return .string(String(decoding: text, as: UTF8.self))
    } catch { throw .internalError }
  }

  /// The JWS of a transaction or a renewal, signed now.
  func signNow(_ payload: JSONValue) throws(APIError) -> JSONValue {
    try sign(payload.signed(at: moment))
  }

  /// The members that identify the app in most answers.
  func appMembers(_ facts: AppFacts) -> [(String, JSONValue)] {
    var members: [(String, JSONValue)] = [
      ("bundleId", .string(facts.app.bundleId)), ("environment", .string(facts.app.environment)),
    ]
    if facts.isProduction { members.append(("appAppleId", .integer(facts.app.appAppleId))) }
    return members
  }
}
