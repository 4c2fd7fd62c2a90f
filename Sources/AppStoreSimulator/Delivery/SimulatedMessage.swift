public import StrictJSON

/// What reaches a service about simulated customers, before it is signed.
public struct SimulatedMessage: Sendable {
  /// The ways on which a service learns of purchases.
  public enum Kind: String, Sendable, CaseIterable {
    /// Version 2 notifications.
    case notifications
    /// Version 1 notifications, each with a receipt.
    case v1
    /// What StoreKit 2 gave to the app: a signed transaction and renewal information.
    case transactions
    /// The receipt of the app.
    case receipts
  }

  public enum Content: Sendable {
    /// responseBodyV2DecodedPayload.
    case notification(JSONValue)
    /// responseBodyV1 without its receipt and its password.
    case v1(JSONValue, ReceiptContent)
    /// JWSTransactionDecodedPayload and JWSRenewalInfoDecodedPayload.
    case transaction(JSONValue, renewal: JSONValue?)
    case receipt(ReceiptContent)
  }

  /// When it can arrive first, milliseconds since 1970.
  public let date: Int64
  public let content: Content

  public init(_ notification: SimulatedNotification) {
    (date, content) = (notification.signedDate, .notification(notification.payload))
  }

  init(_ content: Content, at date: Int64) { (self.date, self.content) = (date, content) }

  public var kind: Kind {
    switch content {
    case .notification: .notifications
    case .v1: .v1
    case .transaction: .transactions
    case .receipt: .receipts
    }
  }

  // MARK: Making

  /// The messages of the given kinds about what notifications tell, in the order of their dates.
  ///
  /// StoreKit 2 tells of each purchase and renewal, before the notification does. An app hands over
  /// its receipt after the first and after the last change of its customer.
  ///
  /// - Parameters:
  ///   - notifications: in the order Apple signed them.
  ///   - earlierPurchases: how many each receipt lists, which nothing else tells of.
  public static func all(
    _ kinds: Set<Kind>, of notifications: [SimulatedNotification], app: SimulatedApp,
    earlierPurchases: Int = 0
  ) -> [SimulatedMessage] {
    var messages: [SimulatedMessage] = []
    var last: [String: Int] = [:]
    for (index, notification) in notifications.enumerated() {
      if let id = notification.appTransactionId { last[id] = index }
    }
    var accounts: [String: CustomerAccount] = [:]
    for (index, notification) in notifications.enumerated() {
      if kinds.contains(.notifications) { messages.append(SimulatedMessage(notification)) }
      guard kinds != [.notifications], let id = notification.appTransactionId else { continue }
      let isFirst = accounts[id] == nil
      var account = accounts.removeValue(forKey: id) ?? CustomerAccount(appTransactionId: id)
      if isFirst {
        account.addEarlier(earlierPurchases, of: accounts.count, before: notification)
      }
      account.add(notification)
      messages += others(
        than: notification, account, kinds, app, hasReceipt: isFirst || index == last[id])
      accounts[id] = account
    }
    return messages.sorted { $0.date < $1.date }
  }

  private static func others(
    than notification: SimulatedNotification, _ account: CustomerAccount, _ kinds: Set<Kind>,
    _ app: SimulatedApp, hasReceipt: Bool
  ) -> [SimulatedMessage] {
    var messages: [SimulatedMessage] = []
    let date = notification.signedDate
    if kinds.contains(.transactions), isPurchase(notification),
      let transaction = notification.transaction,
      let signed = transaction.number("signedDate").map({ $0 - 150 })
    {
      let renewal = notification.payload["data"]?["renewalInfo"]?.signed(at: signed)
      messages.append(
        SimulatedMessage(.transaction(transaction.signed(at: signed), renewal: renewal), at: signed)
      )
    }
    if kinds.contains(.v1), let body = VersionOne.body(notification, account, app) {
      messages.append(SimulatedMessage(.v1(body, account.receipt(of: app, at: date)), at: date))
    }
    if kinds.contains(.receipts), hasReceipt {
      messages.append(SimulatedMessage(.receipt(account.receipt(of: app, at: date)), at: date))
    }
    return messages
  }

  /// Whether StoreKit tells the app: of a purchase or a renewal.
  private static func isPurchase(_ notification: SimulatedNotification) -> Bool {
    switch (notification.type, notification.subtype) {
    case ("SUBSCRIBED", _), ("DID_RENEW", _), ("ONE_TIME_CHARGE", _), ("REFUND", _),
      ("DID_CHANGE_RENEWAL_PREF", "UPGRADE"?):
      true
    default: false
    }
  }
}
