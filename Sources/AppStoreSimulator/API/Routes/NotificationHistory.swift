import HTTPServer
import StrictJSON

/// Get Notification History.
extension APIRoutes {
  /// - Throws: `APIError` for a body, a token or an id that Apple refuses.
  mutating func notificationHistory(
    _ body: [UInt8], _ query: QueryItems, _ facts: inout AppFacts
  ) throws(APIError) -> HTTPResponse {
    let request = try HistoryRequest(body, isProduction: facts.app.isProduction, moment: moment)
    let offset = try offset(query.first("paginationToken"), body)
    var found = try matching(request, facts)
    if behaviour.scramble { found.sort { Self.scrambled($0) < Self.scrambled($1) } }
    if behaviour.lateItem && offset == 0 && !found.isEmpty {
      // It is listed from the next request on, on a page that the client has then passed.
      found.removeFirst()
      behaviour.lateItem = false
    }
    let end = min(offset + Self.pageSize, found.count)
    // With an empty last page there is more to ask for, although there are no more items.
    let hasMore = end < found.count || (behaviour.emptyLastPage && offset < end)
    var items: [JSONValue] = []
    let start = behaviour.duplicates ? max(0, offset - 1) : offset
    for index in found[min(start, end)..<end] { items.append(try item(index, &facts)) }
    var members: [(String, JSONValue)] = [
      ("notificationHistory", .array(items)), ("hasMore", .boolean(hasMore)),
    ]
    if hasMore || behaviour.lastToken {
      let token = PaginationToken(offset: end, made: moment, for: body)
      members.append(("paginationToken", .string(token.text)))
    }
    return .json(members)
  }

  private func offset(_ token: String?, _ body: [UInt8]) throws(APIError) -> Int {
    guard let token else { return 0 }
    guard let token = PaginationToken(token) else { throw .invalidPaginationToken }
    guard token.isFor(body), moment - token.made < behaviour.tokenLifetime else {
      throw .paginationTokenExpired
    }
    return token.offset
  }

  /// Indices of the notifications that a request asks for, oldest first.
  private func matching(
    _ request: HistoryRequest, _ facts: AppFacts
  ) throws(APIError) -> [Int] {
    let signed = facts.signed(from: request.start, before: request.end)
      .filter { request.matches(facts.sent[$0]) }
    guard let id = request.transactionId else { return signed }
    let account = try account(id, facts)
    return signed.filter { facts.isNotification($0, of: account) }
  }

  /// A number without any order, the same at every call.
  private static func scrambled(_ index: Int) -> UInt64 {
    UInt64(index + 1) &* 0x9E37_79B9_7F4A_7C15
  }

  /// NotificationHistoryResponseItem.
  private func item(_ index: Int, _ facts: inout AppFacts) throws(APIError) -> JSONValue {
    let text = try facts.signedPayload(index, authority)
    return Self.item(text, attempts(index, facts))
  }

  /// The members that the history and the status of a test have in common.
  static func item(_ text: String, _ attempts: [SendAttempt]) -> JSONValue {
    var members: [(String, JSONValue)] = [
      ("signedPayload", .string(text)), ("sendAttempts", .array(attempts.map(\.json))),
    ]
    if let first = attempts.first {
      members.append(("firstSendAttemptResult", .string(first.result)))
    }
    return .object(members)
  }

  /// The attempts, or with `variedAttempts` every result, an unknown one, none, and six.
  private func attempts(_ index: Int, _ facts: AppFacts) -> [SendAttempt] {
    let sent = facts.sent[index]
    guard behaviour.variedAttempts else { return sent.attempts }
    let results = SendAttempt.results + ["SOMETHING_NEW"]
    let number = index % (results.count + 2)
    guard number < results.count else {
      let count = number == results.count ? 0 : 6
      return (0..<count).map { SendAttempt(date: sent.signedDate + Int64($0), result: "OTHER") }
    }
    return [SendAttempt(date: sent.signedDate, result: results[number])]
  }
}
