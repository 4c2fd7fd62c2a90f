public import StrictJSON

/// What the App Store has signed about one customer up to a moment: the newest state of each
/// transaction and of each renewal, decoded. A receipt lists it, and so does version 1.
public struct CustomerPurchases: Sendable {
  /// JWSTransactionDecodedPayload, in the order of their first notification.
  public private(set) var transactions: [JSONValue] = []
  /// JWSRenewalInfoDecodedPayload, one for each original transaction id.
  public private(set) var renewals: [JSONValue] = []
  /// The places in `transactions`, by transaction id.
  private var places: [String: Int] = [:]

  public init() {}

  /// Adds what a notification says of the customer; one without a transaction says nothing.
  public mutating func add(_ notification: SimulatedNotification) {
    guard let data = notification.payload["data"], let transaction = data["transaction"],
      let id = transaction.text("transactionId")
    else { return }
    if let place = places[id] {
      transactions[place] = transaction
    } else {
      places[id] = transactions.count
      transactions.append(transaction)
    }
    guard let renewal = data["renewalInfo"] else { return }
    let stream = renewal.text("originalTransactionId")
    renewals.removeAll { $0.text("originalTransactionId") == stream }
    renewals.append(renewal)
  }

  /// Adds purchases of one month each, made one after the other before everything else, which no
  /// notification has told of.
  ///
  /// - Parameter number: the customer's, from which the ids follow.
  mutating func addEarlier(_ count: Int, of number: Int, before notification: SimulatedNotification)
  {
    guard let newest = notification.payload["data"]?["transaction"],
      case .object(let members) = newest
    else { return }
    let month: Int64 = 30 * 86_400_000
    let end = newest.number("originalPurchaseDate") ?? notification.signedDate
    for index in 0..<count {
      // 16 digits: no customer has such an id otherwise.
      let id = String(1_000_000_000_000_000 + Int64(number) * 10_000 + Int64(index))
      let start = end - Int64(count - index) * month
      let changed: [String: JSONValue] = [
        "transactionId": .string(id), "originalTransactionId": .string(id),
        "purchaseDate": .integer(start), "originalPurchaseDate": .integer(start),
        "expiresDate": .integer(start + month), "productId": .string(Product.basicMonthly.id),
        "type": .string(Product.Kind.autoRenewable.rawValue),
      ]
      places[id] = transactions.count
      transactions.append(
        .object(
          members.filter { changed[$0.0] == nil && $0.0 != "revocationDate" }
            + changed.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }))
    }
  }

  /// The content of the customer's receipt.
  ///
  /// - Parameter moment: when it is created, milliseconds since 1970.
  public func receipt(of app: SimulatedApp, at moment: Int64) -> ReceiptContent {
    var content = ReceiptContent(
      receiptType: app.environment == "Production" ? "Production" : "ProductionSandbox",
      bundleId: app.bundleId, creationDate: moment)
    content.records = transactions.compactMap(ReceiptContent.Record.init)
    return content
  }
}

extension ReceiptContent.Record {
  /// An in-app record of a decoded transaction; nil for one that names no purchase.
  public init?(_ transaction: JSONValue) {
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

  /// The object with another signedDate, milliseconds since 1970.
  package func signed(at date: Int64) -> JSONValue {
    guard case .object(let members) = self else { return self }
    return .object(members.map { ($0, $0 == "signedDate" ? .integer(date) : $1) })
  }
}
