public import StrictJSON

/// Apple's responseBodyV1, modern and older form, as far as admission and the fold read it.
///
/// Source: developer.apple.com/documentation/appstoreservernotifications/responsebodyv1 (deprecated
/// 2023-06-05) and what apps of 2017 to 2021 were sent. Values are strings, numbers or absent from
/// one year to the next, so every one is taken in either form, and an empty string is none. Of each
/// date the milliseconds are read, where there are any.
public struct V1Notification: Sendable {
  public let notificationType: String
  /// `Production` or `Sandbox`; V1 itself says PROD at the top and Production further down.
  public let environment: String
  /// Nil where the body names none.
  public let bundleId: String?
  /// The stream: named at the top, else by the newest transaction; nil where there is none at all.
  public let originalTransactionId: String?
  /// When the newest thing the body tells of happened, ms: V1 is not dated. 0 for none.
  public let evidenceDate: Int64
  /// The transactions of its own stream; the body lists those of others too.
  public let transactions: [Transaction]
  public let renewal: RenewalInfo

  /// Reads an authentic body.
  ///
  /// - Throws: `PayloadFault` where it is no notification that can be recorded.
  public init(_ root: JSONElement) throws(PayloadFault) {
    guard root.kind == .object, let type = try root.scalar("notification_type") else {
      throw .shape("notification_type")
    }
    notificationType = type
    environment = try Self.environment(root)
    bundleId = try root.scalar("bid")
    let entries = try Self.entries(root)
    let named = try root.scalar("original_transaction_id")
    let stream = named ?? entries.max(by: Self.isOlder)?.originalTransactionId
    originalTransactionId = stream
    var own = entries.filter { $0.originalTransactionId == stream }
    try Self.applyTopLevelCancellation(root, to: &own)
    let pending = Self.pending(root, stream, newest: own.max(by: Self.isOlder))
    renewal = try Self.renewal(root, pending)
    evidenceDate = try Self.evidence(root, own, renewal)
    for index in own.indices { own[index].signedDate = evidenceDate }
    transactions = own
  }

  // MARK: The top

  /// V1's names of the environments, and ours.
  public static let environments = [
    "PROD": "Production", "Production": "Production", "Sandbox": "Sandbox",
  ]

  private static func environment(_ root: JSONElement) throws(PayloadFault) -> String {
    let names = environments
    let receipt = root["unified_receipt"]
    let top = try root.scalar("environment")
    var inner: String?
    if let receipt { inner = try receipt.scalar("environment") }
    guard let named = top ?? inner, let environment = names[named],
      // Said twice, it must be the same.
      names[inner ?? named] == environment
    else { throw .shape("environment") }
    return environment
  }

  private static func isOlder(_ one: Transaction, _ other: Transaction) -> Bool {
    if one.purchaseDate != other.purchaseDate { return one.purchaseDate < other.purchaseDate }
    return one.transactionId.utf8.lexicographicallyPrecedes(other.transactionId.utf8)
  }

  // MARK: Transactions

  /// All transactions: an array in the unified receipt, single objects at the top before 2021.
  private static func entries(_ root: JSONElement) throws(PayloadFault) -> [Transaction] {
    let places = [
      root["unified_receipt"]?["latest_receipt_info"], root["latest_receipt_info"],
      root["latest_expired_receipt_info"],
    ]
    var found: [Transaction] = []
    for place in places.compactMap({ $0 }) {
      for entry in place.kind == .array ? place.elements : [place] {
        guard let transaction = try Transaction(v1: entry) else { continue }
        let known = found.firstIndex { $0.transactionId == transaction.transactionId }
        guard let known else {
          found.append(transaction)
          continue
        }
        // Listed twice: the first place counts, and a cancellation in either.
        if found[known].revocationDate == nil, transaction.revocationDate != nil {
          found[known] = transaction
        }
      }
    }
    return found
  }

  /// Before 2021 CANCEL had its date at the top, and the billing key of its transaction.
  private static func applyTopLevelCancellation(
    _ root: JSONElement, to transactions: inout [Transaction]
  ) throws(PayloadFault) {
    guard let date = try root.date("cancellation_date") else { return }
    let item = try root.scalar("web_order_line_item_id")
    // Where either names no key, the newest is meant; another key is another transaction's: an
    // upgrade cancelled the old one, and the body may list the new one alone.
    let candidates = transactions.indices.filter {
      item == nil || transactions[$0].webOrderLineItemId ?? item == item
    }
    let newest = candidates.max { Self.isOlder(transactions[$0], transactions[$1]) }
    guard let newest, transactions[newest].revocationDate == nil else { return }
    transactions[newest].revocationDate = date
  }

  // MARK: Renewal

  /// The stream's entry: by original transaction id, and where several products share that, by the
  /// product of the newest transaction.
  private static func pending(
    _ root: JSONElement, _ stream: String?, newest: Transaction?
  ) -> JSONElement? {
    let own = (root["unified_receipt"]?["pending_renewal_info"]?.elements ?? []).filter {
      (try? $0.scalar("original_transaction_id")) == stream
    }
    return own.first { (try? $0.scalar("product_id")) == newest?.productId } ?? own.first
  }

  private static func renewal(
    _ root: JSONElement, _ pending: JSONElement?
  ) throws(PayloadFault) -> RenewalInfo {
    var renewal = RenewalInfo()
    if let pending {
      renewal.originalTransactionId = try pending.scalar("original_transaction_id")
      renewal.productId = try pending.scalar("product_id")
      renewal.autoRenewProductId = try pending.scalar("auto_renew_product_id")
      renewal.autoRenewStatus = pending.flag("auto_renew_status")
      renewal.expirationIntent = pending.number("expiration_intent")
      renewal.isInBillingRetryPeriod = pending.flag("is_in_billing_retry_period").map { $0 == 1 }
      renewal.gracePeriodExpiresDate = try pending.date("grace_period_expires_date")
      renewal.priceIncreaseStatus =
        pending.flag("price_increase_status") ?? pending.flag("price_consent_status")
      return renewal
    }
    renewal.autoRenewStatus = root.flag("auto_renew_status")
    // Where the list is there without the stream, the stream's entry was taken out: a product at
    // the top says nothing then.
    if root["unified_receipt"]?["pending_renewal_info"] == nil {
      renewal.autoRenewProductId = try root.scalar("auto_renew_product_id")
    }
    return renewal
  }

  /// The newest date that the body is evidence of. A failed charge is dated by the period it was
  /// to renew.
  private static func evidence(
    _ root: JSONElement, _ transactions: [Transaction], _ renewal: RenewalInfo
  ) throws(PayloadFault) -> Int64 {
    var dates = transactions.map(\.purchaseDate) + transactions.compactMap(\.revocationDate)
    if let changed = try root.date("auto_renew_status_change_date") { dates.append(changed) }
    if renewal.isInBillingRetryPeriod == true {
      dates += transactions.filter { $0.productId == renewal.productId }.compactMap(\.expiresDate)
    }
    return max(0, dates.max() ?? 0)
  }
}

extension Transaction {
  /// Reads an entry of latest_receipt_info; nil where it cannot be placed.
  ///
  /// `revocationDate` is V1's cancellation date. V1 does not say what kind of product it is; what
  /// expires renews by itself, since non-renewing subscriptions have no expiry here.
  init?(v1 entry: JSONElement) throws(PayloadFault) {
    guard let identifier = try entry.scalar("transaction_id"),
      let purchased = try entry.date("purchase_date")
    else { return nil }
    self.init()
    transactionId = identifier
    originalTransactionId = try entry.scalar("original_transaction_id")
    webOrderLineItemId = try entry.scalar("web_order_line_item_id")
    productId = try entry.scalar("product_id")
    subscriptionGroupIdentifier = try entry.scalar("subscription_group_identifier")
    appAccountToken = try entry.scalar("app_account_token")
    inAppOwnershipType = try entry.scalar("in_app_ownership_type")
    purchaseDate = purchased
    expiresDate = try entry.date("expires_date")
    type = expiresDate == nil ? nil : "Auto-Renewable Subscription"
    quantity = entry.number("quantity")
    revocationDate = try entry.date("cancellation_date")
    revocationReason = entry.number("cancellation_reason")
    isUpgraded = entry.flag("is_upgraded") == 1
    try readV1Offer(entry)
  }

  private mutating func readV1Offer(_ entry: JSONElement) throws(PayloadFault) {
    if let promotion = try entry.scalar("promotional_offer_id") {
      (offerType, offerIdentifier) = (2, promotion)
    } else if let code = try entry.scalar("offer_code_ref_name") {
      (offerType, offerIdentifier) = (3, code)
    } else if entry.flag("is_trial_period") == 1 {
      (offerType, offerDiscountType) = (1, "FREE_TRIAL")
    } else if entry.flag("is_in_intro_offer_period") == 1 {
      offerType = 1
    }
  }
}

extension JSONElement {
  /// A string, or a number exactly as written; nil where absent, empty or something else.
  func scalar(_ name: String) throws(PayloadFault) -> String? {
    guard let number = self[name]?.number else { return try identifier(name) }
    return number
  }

  func number(_ name: String) -> Int64? {
    (try? scalar(name)).flatMap { $0 }.flatMap { Int64($0) }
  }

  /// `"true"`, `"1"`, 1 or true, and their opposites.
  func flag(_ name: String) -> Int64? {
    if let boolean = self[name]?.boolean { return boolean ? 1 : 0 }
    switch (try? scalar(name)).flatMap({ $0 }) {
    case "true", "1": return 1
    case "false", "0": return 0
    default: return nil
    }
  }

  /// A date by its milliseconds: in `name_ms`, or, in objects of before 2021, in `name` itself.
  /// Bodies of before 2018 have the readable form alone.
  ///
  /// - Throws: where there is one that cannot be read. Without its end a subscription would be a
  ///   product that has none, and give access for ever (promise 8).
  func date(_ name: String) throws(PayloadFault) -> Int64? {
    let readable = try scalar(name)
    guard let text = try scalar(name + "_ms") ?? readable else { return nil }
    guard let date = Int64(text) ?? V1Date.milliseconds(text) else { throw .shape("date") }
    return date
  }
}
