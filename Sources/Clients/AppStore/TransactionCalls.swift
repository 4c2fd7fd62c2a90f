public import AppStore
import StrictJSON

/// The newest transaction of one subscription, as of the call.
public struct SubscriptionStatus: Sendable, Equatable {
  public let subscriptionGroupIdentifier: String
  public let originalTransactionId: String
  /// 1 active, 2 expired, 3 billing retry, 4 grace period, 5 revoked; not signed, and unknown
  /// values are kept.
  public let status: Int64
  /// A JWS, not proven.
  public let signedTransactionInfo: String
  /// A JWS, not proven; nil if Apple sent none.
  public let signedRenewalInfo: String?
}

/// At most 20 transactions.
public struct TransactionHistoryPage: Sendable, Equatable {
  /// JWS, not proven.
  public let signedTransactions: [String]
  public let hasMore: Bool
  /// For the next page, and for what changes after the last one.
  public let revision: String
}

/// The transactions of an order.
public struct OrderLookup: Sendable, Equatable {
  /// Whether the order id is one of this app.
  public let isValid: Bool
  /// JWS, not proven.
  public let signedTransactions: [String]
}

/// The calls about one customer. An id is a decimal number; which kinds of ids a call takes stands
/// beside it.
extension AppStoreClient {
  /// Get All Subscription Statuses, for any id of the customer.
  ///
  /// - Throws: `AppStoreError`.
  public func subscriptionStatuses(
    _ anyTransactionId: String
  ) throws(AppStoreError) -> [SubscriptionStatus] {
    let call = Call(
      endpoint: .subscriptionStatuses, path: ["v1", "subscriptions", anyTransactionId])
    return try answer(call) { [account] (answer) throws(AnswerFault) in
      try answer.require(account)
      return try answer.list("data") { (group) throws(AnswerFault) in
        let identifier = try group.text("subscriptionGroupIdentifier")
        return try group.list("lastTransactions") { (item) throws(AnswerFault) in
          SubscriptionStatus(
            subscriptionGroupIdentifier: identifier,
            originalTransactionId: try item.text("originalTransactionId"),
            status: try item.integer("status"),
            signedTransactionInfo: try item.text("signedTransactionInfo"),
            signedRenewalInfo: try item.optionalText("signedRenewalInfo"))
        }
      }.flatMap { $0 }
    }
  }

  /// One page of Get Transaction History, version 2, for any id of the customer: all transactions
  /// in the order of their last change. One that changes meanwhile comes again.
  ///
  /// - Parameter revision: of the page before; nil for the first.
  /// - Throws: `AppStoreError`; its code's action is `restart` if the revision is no longer valid.
  public func transactionHistory(
    _ anyTransactionId: String, revision: String?
  ) throws(AppStoreError) -> TransactionHistoryPage {
    let query = revision.map { [(name: "revision", value: $0)] } ?? []
    let call = Call(
      endpoint: .transactionHistory, path: ["v2", "history", anyTransactionId], query: query)
    return try answer(call) { [account] (answer) throws(AnswerFault) in
      try answer.require(account)
      let page = TransactionHistoryPage(
        signedTransactions: try answer.texts("signedTransactions"),
        hasMore: try answer.boolean("hasMore"), revision: try answer.text("revision"))
      // Otherwise a caller would ask for the same page for ever.
      guard !page.signedTransactions.isEmpty || !page.hasMore || page.revision != revision else {
        throw AnswerFault("an empty page leads to itself")
      }
      return page
    }
  }

  /// Get Transaction Info: a JWS, not proven. Takes a transaction id or an original one.
  ///
  /// - Throws: `AppStoreError`; `.appTransactionIdNotSupported` for an app transaction id.
  public func transactionInfo(_ transactionId: String) throws(AppStoreError) -> String {
    let call = Call(endpoint: .transactionInfo, path: ["v1", "transactions", transactionId])
    return try answer(call) { (answer) throws(AnswerFault) in
      try answer.text("signedTransactionInfo")
    }
  }

  /// Get App Transaction Info, for any id of the customer: a JWS, not proven.
  ///
  /// - Throws: `AppStoreError`.
  public func appTransactionInfo(_ anyTransactionId: String) throws(AppStoreError) -> String {
    let call = Call(
      endpoint: .appTransactionInfo,
      path: ["v1", "transactions", "appTransactions", anyTransactionId])
    return try answer(call) { (answer) throws(AnswerFault) in
      try answer.text("signedAppTransactionInfo")
    }
  }

  /// Look Up Order ID, in Production alone.
  ///
  /// - Throws: `AppStoreError`; `.unavailable` in the Sandbox, which is not asked.
  public func lookUpOrder(_ orderId: String) throws(AppStoreError) -> OrderLookup {
    let call = Call(endpoint: .orderLookup, path: ["v1", "lookup", orderId])
    return try answer(call) { (answer) throws(AnswerFault) in
      let isValid = try answer.integer("status") == 0
      // Apple's sample has transactions beside "invalid"; they would not be of this order.
      return OrderLookup(
        isValid: isValid, signedTransactions: isValid ? try answer.texts("signedTransactions") : [])
    }
  }

  /// Send Consumption Information, version 2: what is known about a purchase for which the customer
  /// wants the money back. Sent again, it replaces what was sent.
  ///
  /// - Parameter transactionId: of the transaction that the request is about, no original one.
  /// - Throws: `AppStoreError`; `isRefusal` says whether Apple refused it for good.
  public func sendConsumption(
    _ information: ConsumptionInformation, of transactionId: String
  ) throws(AppStoreError) {
    let call = Call(
      endpoint: .sendConsumptionInformation,
      path: ["v2", "transactions", "consumption", transactionId], method: .put,
      body: information.json.bytes)
    try response(to: call) { (response) throws(AnswerFault) in
      guard response.status == 202 else {
        throw AnswerFault("its status is \(response.status), and not 202")
      }
    }
  }
}
