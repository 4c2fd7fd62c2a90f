import StrictJSON

/// What the App Store knows of one customer at a moment: the newest state of each transaction and
/// subscription that a notification has told of.
struct CustomerAccount {
  /// A transaction and when its content last changed.
  struct Purchase {
    let id: String
    var transaction: JSONValue
    /// Milliseconds since 1970.
    var modified: Int64
    fileprivate var content: [UInt8]
  }

  struct Subscription {
    let originalId: String
    let status: Int64
    let transaction: JSONValue
    let renewal: JSONValue
  }

  let appTransactionId: String
  /// In the order of their first notification.
  private(set) var purchases: [Purchase] = []
  private(set) var subscriptions: [Subscription] = []

  /// - Parameters:
  ///   - notifications: those of the customer's household, oldest first.
  ///   - id: the id of a transaction, an original transaction or an app transaction.
  ///   - moment: milliseconds since 1970; what was signed later is not known yet.
  /// - Returns: nil if the id is not known at that moment.
  init?(_ notifications: [SimulatedNotification], with id: String, at moment: Int64) {
    let known = notifications.filter { $0.signedDate <= moment }
    let transactions = known.compactMap { $0.payload["data"]?["transaction"] }
    let names = ["transactionId", "originalTransactionId", "appTransactionId"]
    guard
      let own = transactions.first(where: { part in names.contains { part.text($0) == id } }),
      let customer = own.text("appTransactionId")
    else { return nil }
    appTransactionId = customer
    for notification in known {
      guard let data = notification.payload["data"], let transaction = data["transaction"],
        transaction.text("appTransactionId") == customer
      else { continue }
      add(transaction, notification.signedDate)
      add(transaction, data, at: moment)
    }
  }

  private mutating func add(_ transaction: JSONValue, _ signed: Int64) {
    guard let id = transaction.text("transactionId") else { return }
    let content = transaction.sorted(without: ["signedDate"]).bytes
    guard let index = purchases.firstIndex(where: { $0.id == id }) else {
      return purchases.append(
        Purchase(id: id, transaction: transaction, modified: signed, content: content))
    }
    guard purchases[index].content != content else { return }
    purchases[index].content = content
    purchases[index].transaction = transaction
    purchases[index].modified = signed
  }

  /// A period that ended since the last notification has ended for the answer too.
  private mutating func add(_ transaction: JSONValue, _ data: JSONValue, at moment: Int64) {
    guard let renewal = data["renewalInfo"], var status = data.number("status"),
      let id = transaction.text("originalTransactionId")
    else { return }
    let end = transaction.number("expiresDate") ?? .max
    if status == 1 && end <= moment { status = 2 }
    if status == 4 && renewal.number("gracePeriodExpiresDate") ?? .max <= moment { status = 3 }
    subscriptions.removeAll { $0.originalId == id }
    subscriptions.append(
      Subscription(originalId: id, status: status, transaction: transaction, renewal: renewal))
  }
}
