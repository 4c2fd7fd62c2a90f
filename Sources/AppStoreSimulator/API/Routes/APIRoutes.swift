import HTTPServer
import SignedData
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

  /// - Throws: `APIError` for a request that Apple refuses.
  mutating func answer(
    _ request: HTTPRequest, _ operation: Operation, _ facts: inout AppFacts
  ) throws(APIError) -> HTTPResponse {
    let query = QueryItems(request.query)
    let id = operation.id
    if operation.kind.takesJSON && !Self.isJSON(request) { return HTTPResponse(status: 415) }
    switch operation.kind {
    case .notificationHistory: return try notificationHistory(request.body, query, &facts)
    case .requestTest: return try requestTest(&facts)
    case .testStatus: return try testStatus(id, &facts)
    case .statuses: return try statuses(try account(id, facts), query, facts)
    case .historyV1:
      return try transactionHistory(try account(id, facts), query, facts, omitsConsumables: true)
    case .history: return try transactionHistory(try account(id, facts), query, facts)
    case .refunds: return try refunds(try account(id, facts), query)
    case .appTransaction: return try appTransaction(try account(id, facts), facts)
    case .transaction: return try transaction(id, facts)
    case .order: return try lookUpOrder(id, facts)
    case .finish: return try finish(id, facts)
    case .consumption: return try consumption(id, request.body, &facts)
    case .accountToken: return try accountToken(id, try Self.object(request.body), facts)
    case .extend: return try extend(id, try Self.object(request.body), &facts)
    case .massExtend: return try extendAll(try Self.object(request.body), &facts)
    case .massExtendStatus: return try massExtensionStatus(operation, facts)
    }
  }

  private static func isJSON(_ request: HTTPRequest) -> Bool {
    request.headers.first("content-type")?.hasPrefix("application/json") == true
  }

  /// The object that a body is.
  ///
  /// - Throws: `APIError.badRequest` if it is none.
  static func object(_ body: [UInt8]) throws(APIError) -> JSONElement {
    guard let root = try? JSONDocument(parsing: body).root, root.kind == .object else {
      throw .badRequest
    }
    return root
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
    do throws(SigningError) { return try authority.signed(payload) } catch {
      throw .internalError
    }
  }

  /// The JWS of a transaction or a renewal, signed now.
  func signNow(_ payload: JSONValue) throws(APIError) -> JSONValue {
    try sign(payload.signed(at: moment))
  }
}
