public import StrictJSON

/// What the App Store has signed about one customer: the newest state of each transaction and of
/// each subscription, decoded. Receipts, version 1 and the answers of the API all come from it.
public struct CustomerAccount: Sendable {
  struct Purchase: Sendable {
    let id: String
    /// JWSTransactionDecodedPayload.
    fileprivate(set) var transaction: JSONValue
    /// When its content last changed, milliseconds since 1970.
    fileprivate(set) var modified: Int64
  }

  struct Subscription: Sendable {
    let originalId: String
    /// Apple's, when it was last told of.
    fileprivate let lastStatus: Int64
    /// JWSTransactionDecodedPayload and JWSRenewalInfoDecodedPayload.
    let (transaction, renewal): (JSONValue, JSONValue)

    /// Apple's status: a period that ended since the last notification has ended for this too.
    ///
    /// - Parameter moment: milliseconds since 1970.
    func status(at moment: Int64) -> Int64 {
      switch lastStatus {
      case 1 where transaction.number("expiresDate") ?? .max <= moment: 2
      case 4 where renewal.number("gracePeriodExpiresDate") ?? .max <= moment: 3
      default: lastStatus
      }
    }
  }

  let appTransactionId: String
  /// In the order of their first notification.
  private(set) var purchases: [Purchase] = []
  private(set) var subscriptions: [Subscription] = []
  /// The places in `purchases`, by transaction id.
  private var places: [String: Int] = [:]

  /// JWSTransactionDecodedPayload, in the order of their first notification.
  public var transactions: [JSONValue] { purchases.map(\.transaction) }
  /// JWSRenewalInfoDecodedPayload, one for each original transaction id.
  public var renewals: [JSONValue] { subscriptions.map(\.renewal) }

  init(appTransactionId: String) { self.appTransactionId = appTransactionId }

  /// - Parameters:
  ///   - notifications: those of the customer and its members, oldest first.
  ///   - id: the id of a transaction, an original transaction or an app transaction.
  ///   - moment: milliseconds since 1970; what was signed later is not known yet.
  /// - Returns: nil if the id is not known at that moment.
  public init?(_ notifications: [SimulatedNotification], with id: String, at moment: Int64) {
    let known = notifications.filter { $0.signedDate <= moment }
    let names = ["transactionId", "originalTransactionId", "appTransactionId"]
    let own = known.first { notification in
      names.contains { notification.transaction?.text($0) == id }
    }
    guard let customer = own?.appTransactionId else { return nil }
    self.init(appTransactionId: customer)
    for notification in known where notification.appTransactionId == customer {
      add(notification)
    }
  }

  /// Adds what a notification says of the customer; one without a transaction says nothing.
  mutating func add(_ notification: SimulatedNotification) {
    guard let transaction = notification.transaction, let id = transaction.text("transactionId")
    else { return }
    if let place = places[id] {
      if purchases[place].transaction.signed(at: 0) != transaction.signed(at: 0) {
        purchases[place].transaction = transaction
        purchases[place].modified = notification.signedDate
      }
    } else {
      places[id] = purchases.count
      purchases.append(
        Purchase(id: id, transaction: transaction, modified: notification.signedDate))
    }
    guard let data = notification.payload["data"], let renewal = data["renewalInfo"],
      let status = data.number("status"), let stream = transaction.text("originalTransactionId")
    else { return }
    subscriptions.removeAll { $0.originalId == stream }
    subscriptions.append(
      Subscription(
        originalId: stream, lastStatus: status, transaction: transaction, renewal: renewal))
  }

  /// Adds purchases of one month each, made one after the other before everything else, which no
  /// notification has told of.
  ///
  /// - Parameter number: the customer's, from which the ids follow.
  mutating func addEarlier(_ count: Int, of number: Int, before notification: SimulatedNotification)
  {
    guard case .object(let members) = notification.transaction else { return }
    let month: Int64 = 30 * 86_400_000
    let end =
      notification.transaction?.number("originalPurchaseDate") ?? notification.signedDate
    for index in 0..<count {
      // 16 digits: no customer has such an id otherwise.
      let id = String(1_000_000_000_000_000 + Int64(number) * 10_000 + Int64(index))
      let start = end - Int64(count - index) * month
      let changed: [(String, JSONValue)] = [
        ("expiresDate", .integer(start + month)), ("originalPurchaseDate", .integer(start)),
        ("originalTransactionId", .string(id)), ("productId", .string(Product.basicMonthly.id)),
        ("purchaseDate", .integer(start)), ("transactionId", .string(id)),
        ("type", .string(Product.Kind.autoRenewable.rawValue)),
      ]
      let names = Set(changed.map(\.0) + ["revocationDate"])
      places[id] = purchases.count
      purchases.append(
        Purchase(
          id: id, transaction: .object(members.filter { !names.contains($0.0) } + changed),
          modified: start))
    }
  }

  /// The content of the customer's receipt.
  ///
  /// - Parameter moment: when it is created, milliseconds since 1970.
  func receipt(of app: SimulatedApp, at moment: Int64) -> ReceiptContent {
    ReceiptContent(
      receiptType: app.isProduction ? "Production" : "ProductionSandbox", bundleId: app.bundleId,
      creationDate: moment, records: purchases.compactMap { ReceiptContent.Record($0.transaction) })
  }
}

extension ReceiptContent.Record {
  /// An in-app record of a decoded transaction; nil for one that names no purchase.
  init?(_ transaction: JSONValue) {
    guard let id = transaction.text("transactionId"),
      let purchased = transaction.number("purchaseDate")
    else { return nil }
    self.init(
      transactionId: id, originalTransactionId: transaction.text("originalTransactionId") ?? id,
      productId: transaction.text("productId") ?? "", purchaseDate: purchased,
      expiresDate: transaction.number("expiresDate"))
    originalPurchaseDate = transaction.number("originalPurchaseDate") ?? purchased
    quantity = transaction.number("quantity") ?? 1
    cancellationDate = transaction.number("revocationDate")
    webOrderLineItemId = transaction.text("webOrderLineItemId").flatMap { Int64($0) }
    let kinds: [Product.Kind] = [.nonConsumable, .consumable, .nonRenewing, .autoRenewable]
    let type = transaction.text("type")
    kind = kinds.firstIndex { $0.rawValue == type }.map { Int64($0) }
    let offer = transaction.number("offerType")
    isTrial = offer == 1 && transaction.text("offerDiscountType") == "FREE_TRIAL"
    // Of an auto-renewable subscription alone.
    isInIntroOffer = expiresDate.map { _ in offer == 1 && !isTrial }
    promotionalOfferId = offer == 2 ? transaction.text("offerIdentifier") : nil
  }
}

extension JSONValue {
  /// The string of a member; nil if it has none.
  package func text(_ name: String) -> String? {
    if case .string(let text) = self[name] { text } else { nil }
  }

  /// The integer of a member; nil if it has none.
  package func number(_ name: String) -> Int64? {
    if case .integer(let number) = self[name] { number } else { nil }
  }

  /// The object with another value of a member that it has.
  func replacing(_ name: String, _ value: JSONValue) -> JSONValue {
    guard case .object(let members) = self else { return self }
    return .object(members.map { ($0, $0 == name ? value : $1) })
  }

  /// The object with another signedDate, milliseconds since 1970.
  package func signed(at date: Int64) -> JSONValue { replacing("signedDate", .integer(date)) }
}
