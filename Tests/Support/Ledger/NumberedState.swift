import AppStore
package import Entitlements

extension StreamState {
  /// A subscription whose state is another for every number: a first transaction, and one more for
  /// each further id.
  ///
  /// - Parameter seq: of the last event; the others come before it.
  package init(
    number: Int, tokens: [String] = [], appTransactionIds: [String] = [],
    previousOriginalTransactionIds: [String] = [], seq: Int64 = 0
  ) {
    self.init()
    let count = max(
      1, tokens.count, appTransactionIds.count, previousOriginalTransactionIds.count)
    for index in 0..<count {
      var transaction = Transaction()
      transaction.transactionId = "\(number).\(index)"
      transaction.productId = "product \(number)"
      transaction.purchaseDate = 1_767_225_600_000 + Int64(index) * 2_592_000_000
      transaction.expiresDate = transaction.purchaseDate + 2_592_000_000
      transaction.signedDate = transaction.purchaseDate
      transaction.transactionReason = index == 0 ? "PURCHASE" : "RENEWAL"
      transaction.appAccountToken = index < tokens.count ? tokens[index] : nil
      transaction.appTransactionId =
        index < appTransactionIds.count ? appTransactionIds[index] : nil
      transaction.previousOriginalTransactionId =
        index < previousOriginalTransactionIds.count
        ? previousOriginalTransactionIds[index] : nil
      evolve(
        FoldEvent(
          seq: seq - Int64(count - 1 - index),
          uuid: NotificationUUID(high: UInt64(number), low: UInt64(index)),
          notificationType: index == 0 ? "SUBSCRIBED" : "DID_RENEW", subtype: nil,
          signedDate: transaction.signedDate, status: 1, transactions: [transaction]))
    }
  }

  /// The number that the state was made from; nil if it was not.
  package var number: Int? {
    transactions.keys.first.flatMap { $0.split(separator: ".").first }.flatMap { Int($0) }
  }
}
