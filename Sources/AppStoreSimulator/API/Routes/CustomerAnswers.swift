import HTTPServer
import StrictJSON

/// Get All Subscription Statuses, Get Transaction Info, Get App Transaction Info and Look Up Order
/// ID.
extension APIRoutes {
  /// Both parts of each entry are signed now, so that the answer is newer than every notification.
  ///
  /// - Throws: `APIError.invalidStatus` for a status that is not 1 to 5.
  func statuses(
    _ account: CustomerAccount, _ query: QueryItems, _ facts: AppFacts
  ) throws(APIError) -> HTTPResponse {
    var wanted: [Int64] = []
    for text in query.all("status") {
      guard let status = Int64(text), 1...5 ~= status else { throw .invalidStatus }
      wanted.append(status)
    }
    var groups: [(id: String, entries: [JSONValue])] = []
    for subscription in account.subscriptions {
      let status = subscription.status(at: moment)
      guard wanted.isEmpty || wanted.contains(status) else { continue }
      let id = subscription.transaction.text("subscriptionGroupIdentifier") ?? ""
      let made = try entries(subscription, status)
      if let index = groups.firstIndex(where: { $0.id == id }) {
        groups[index].entries += made
      } else {
        groups.append((id, made))
      }
    }
    let data = groups.map { group in
      JSONValue.object([
        ("subscriptionGroupIdentifier", .string(group.id)),
        ("lastTransactions", .array(group.entries)),
      ])
    }
    return .json(facts.app.members + [("data", .array(data))])
  }

  /// One entry of `lastTransactions`, changed as `behaviour.status` says.
  private func entries(
    _ subscription: CustomerAccount.Subscription, _ status: Int64
  ) throws(APIError) -> [JSONValue] {
    let status = behaviour.status == .unknown ? 6 : status
    var members: [(String, JSONValue)] = [
      ("originalTransactionId", .string(subscription.originalId)), ("status", .integer(status)),
      ("signedTransactionInfo", try signNow(subscription.transaction)),
    ]
    if behaviour.status != .withoutRenewal {
      members.append(("signedRenewalInfo", try signNow(subscription.renewal)))
    }
    let entry = JSONValue.object(members)
    return behaviour.status == .twice ? [entry, entry] : [entry]
  }

  /// - Throws: `APIError.appTransactionIdNotSupported`; `.invalidTransactionId`;
  ///   `.transactionIdNotFound`.
  func transaction(_ id: String, _ facts: AppFacts) throws(APIError) -> HTTPResponse {
    let account = try account(id, facts)
    if id == account.appTransactionId { throw .appTransactionIdNotSupported }
    let found =
      account.purchases.first { $0.id == id }
      ?? account.purchases.last { $0.transaction.text("originalTransactionId") == id }
    guard let found else { throw .transactionIdNotFound }
    return .json([("signedTransactionInfo", try signNow(found.transaction))])
  }

  /// - Throws: `APIError.internalError` if it cannot be signed.
  func appTransaction(
    _ account: CustomerAccount, _ facts: AppFacts
  ) throws(APIError) -> HTTPResponse {
    let first = account.transactions.compactMap { $0.number("purchaseDate") }.min()
    let transaction = facts.app.transaction(
      of: account.appTransactionId, bought: first ?? moment, at: moment)
    return .json([("signedAppTransactionInfo", try sign(transaction))])
  }

  /// The order of a transaction is `M` and the transaction's id. The sandbox has no orders: its
  /// answer has no body.
  ///
  /// - Throws: `APIError.badRequest` for a text that is no order id.
  func lookUpOrder(_ id: String, _ facts: AppFacts) throws(APIError) -> HTTPResponse {
    guard facts.app.isProduction else { return HTTPResponse(status: 404) }
    let isOrder = id.utf8.allSatisfy { 0x30...0x39 ~= $0 || 0x41...0x5A ~= $0 }
    guard isOrder, 1...64 ~= id.utf8.count else { throw .badRequest }
    let number = String(id.dropFirst())
    guard id.hasPrefix("M"), let account = facts.account(with: number, at: moment),
      let purchase = account.purchases.first(where: { $0.id == number })
    else { return .json([("status", .integer(1))]) }
    return .json([
      ("status", .integer(0)),
      ("signedTransactions", .array([try signNow(purchase.transaction)])),
    ])
  }
}
