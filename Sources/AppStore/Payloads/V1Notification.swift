import Platform
public import StrictJSON

/// Apple's responseBodyV1, modern and older form, as far as admission and the fold read it.
///
/// Source: developer.apple.com/documentation/appstoreservernotifications/responsebodyv1 (deprecated
/// 2023-06-05) and notifications that apps received from 2017 to 2021. From one year to the next a
/// value is a string, a number or absent, so each is read in both forms, and an empty string counts
/// as absent. Dates are read in their form in milliseconds if there is one.
public struct V1Notification: Sendable {
  public let notificationType: String
  /// `Production` or `Sandbox`; V1 has `PROD` at the top and `Production` in the receipt.
  public let environment: Environment
  /// Nil if the body names none.
  public let bundleId: String?
  /// The stream that the body is about, or that it was filed under; nil if it names none.
  public let originalTransactionId: String?
  /// The stream that builds before fold 3 filed the body under: named at the top, else by the
  /// newest transaction.
  public let formerOriginalTransactionId: String?
  /// The newest date in the body that something happened, in milliseconds since 1970, because V1
  /// notifications carry no date of their own. 0 if there is none.
  public let evidenceDate: Int64
  /// The transactions of its own stream; the body also lists those of others.
  public let transactions: [Transaction]
  public let renewal: RenewalInfo
  /// When automatic renewal was switched on or off last: auto_renew_status_change_date.
  public let renewalChangeDate: Int64?

  /// Reads an authentic body as one of the stream that it is about (`V1Stream`).
  ///
  /// - Throws: `PayloadFault` if the type or the environment is missing, if two environments
  ///   contradict each other, if a date cannot be read, or for NUL in an identifier.
  public init(_ root: JSONElement) throws(PayloadFault) {
    try self.init(root) { (entries) throws(PayloadFault) in try V1Stream.of(root, entries) }
  }

  /// Reads a journaled body as one of the stream that it was filed under, by whichever rule.
  ///
  /// - Throws: as `init(_:)`.
  public init(_ root: JSONElement, of originalTransactionId: String?) throws(PayloadFault) {
    try self.init(root) { _ in originalTransactionId }
  }

  private init(
    _ root: JSONElement, stream choose: ([Transaction]) throws(PayloadFault) -> String?
  ) throws(PayloadFault) {
    guard root.kind == .object, let type = try root.scalar("notification_type") else {
      throw PayloadFault("notification_type")
    }
    notificationType = type
    environment = try Self.environment(root)
    bundleId = try root.scalar("bid")
    let entries = try Self.entries(root)
    let stream = try choose(entries)
    originalTransactionId = stream
    formerOriginalTransactionId =
      try root.scalar("original_transaction_id")
      ?? entries.max(by: Self.isOlder)?.originalTransactionId
    var own = entries.filter { ByteSearch.areEqual($0.originalTransactionId, stream) }
    try Self.applyTopLevelCancellation(root, to: &own)
    let pending = Self.pending(root, stream, newest: own.max(by: Self.isOlder))
    if pending != nil { for index in own.indices { own[index].type = ProductType.autoRenewable } }
    renewal = try Self.renewal(root, pending)
    if type == "INTERACTIVE_RENEWAL" {
      Self.setPurchase(of: renewal.productId ?? renewal.autoRenewProductId, in: &own)
    }
    renewalChangeDate = try root.date("auto_renew_status_change_date")
    evidenceDate = Self.evidence(own, renewal, renewalChangeDate)
    for index in own.indices { own[index].signedDate = evidenceDate }
    transactions = own
  }

  // MARK: Environment

  /// V1's names of the environments, and ours.
  public static let environments: [String: Environment] = [
    "PROD": .production, "Production": .production, "Sandbox": .sandbox,
  ]

  private static func environment(_ root: JSONElement) throws(PayloadFault) -> Environment {
    let names = environments
    let receipt = root["unified_receipt"]
    let top = try root.scalar("environment")
    var inner: String?
    if let receipt { inner = try receipt.scalar("environment") }
    guard let named = top ?? inner, let environment = names[named],
      // If both the top and the receipt name one, they must agree.
      names[inner ?? named] == environment
    else { throw PayloadFault("environment") }
    return environment
  }

  /// The order of purchases: by their dates, then by their ids.
  public static func isOlder(_ one: Transaction, _ other: Transaction) -> Bool {
    if one.purchaseDate != other.purchaseDate { return one.purchaseDate < other.purchaseDate }
    return ByteSearch.precedes(one.transactionId, other.transactionId)
  }

  // MARK: Transactions

  /// All transactions: an array in the unified receipt, single objects at the top before 2021.
  private static func entries(_ root: JSONElement) throws(PayloadFault) -> [Transaction] {
    let lists = [
      root["unified_receipt"]?["latest_receipt_info"], root["latest_receipt_info"],
      root["latest_expired_receipt_info"],
    ]
    var found: [Transaction] = []
    for list in lists.compactMap({ $0 }) {
      for entry in list.kind == .array ? list.elements : [list] {
        guard let transaction = try Transaction(v1: entry) else { continue }
        let known = found.firstIndex {
          ByteSearch.areEqual($0.transactionId, transaction.transactionId)
        }
        guard let known else {
          found.append(transaction)
          continue
        }
        // If one is listed twice, the first entry counts, unless only the other is cancelled.
        if found[known].revocationDate == nil, transaction.revocationDate != nil {
          found[known] = transaction
        }
      }
    }
    return found
  }

  /// Until 2021 CANCEL had its date at the top, and beside it the web_order_line_item_id of its
  /// transaction.
  private static func applyTopLevelCancellation(
    _ root: JSONElement, to transactions: inout [Transaction]
  ) throws(PayloadFault) {
    guard let date = try root.date("cancellation_date") else { return }
    let item = try root.scalar("web_order_line_item_id")
    // If the top or a transaction has no such id, the newest transaction is meant. A different id
    // belongs to another transaction: an upgrade cancels the old one, and the body may list only
    // the new one.
    let candidates = transactions.indices.filter {
      item == nil || transactions[$0].webOrderLineItemId ?? item == item
    }
    let newest = candidates.max { Self.isOlder(transactions[$0], transactions[$1]) }
    guard let newest, transactions[newest].revocationDate == nil else { return }
    transactions[newest].revocationDate = date
  }

  /// INTERACTIVE_RENEWAL tells a purchase: the newest of the product that renews. A renewal that
  /// was charged ahead before it and replaced may begin later, and is of another product.
  private static func setPurchase(of product: String?, in transactions: inout [Transaction]) {
    let bought = transactions.indices.filter {
      !transactions[$0].isUpgraded && transactions[$0].revocationDate == nil
        && (product == nil || ByteSearch.areEqual(product, transactions[$0].productId))
    }.max { isOlder(transactions[$0], transactions[$1]) }
    if let bought { transactions[bought].transactionReason = "PURCHASE" }
  }

  // MARK: Renewal

  /// The stream's entry in pending_renewal_info: the one with its original transaction id, and
  /// among several of those the one with the product of the newest transaction.
  private static func pending(
    _ root: JSONElement, _ stream: String?, newest: Transaction?
  ) -> JSONElement? {
    let own = (root["unified_receipt"]?["pending_renewal_info"]?.elements ?? []).filter {
      ByteSearch.areEqual(try? $0.scalar("original_transaction_id"), stream)
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
    // If pending_renewal_info is there without this stream's entry, the entry was removed from it,
    // and a product at the top has no meaning.
    if root["unified_receipt"]?["pending_renewal_info"] == nil {
      renewal.autoRenewProductId = try root.scalar("auto_renew_product_id")
    }
    return renewal
  }

  /// The newest date in the body at which something happened. A failed charge is dated by the end
  /// of the period that it was to renew.
  private static func evidence(
    _ transactions: [Transaction], _ renewal: RenewalInfo, _ renewalChangeDate: Int64?
  ) -> Int64 {
    var dates = transactions.map(\.purchaseDate) + transactions.compactMap(\.revocationDate)
    if let renewalChangeDate { dates.append(renewalChangeDate) }
    if renewal.isInBillingRetryPeriod == true {
      dates += transactions.filter { $0.productId == renewal.productId }.compactMap(\.expiresDate)
    }
    return max(0, dates.max() ?? 0)
  }
}

/// The stream that a V1 body is about.
///
/// Bodies from 2019 to at least 2021 need not name it at the top, and list the transactions of all
/// subscriptions of the customer, of which the newest may be another one. Source: bodies that apps
/// received in those years; Apple's page of responseBodyV1 only has the member at the top.
enum V1Stream {
  /// - Parameter entries: the transactions that the body lists.
  /// - Returns: nil if nothing in it names a stream.
  /// - Throws: `PayloadFault` if the date of cancellation cannot be read, or for NUL in an id.
  static func of(
    _ root: JSONElement, _ entries: [Transaction]
  ) throws(PayloadFault) -> String? {
    if let named = try root.scalar("original_transaction_id") { return named }
    if let stream = try object(root) { return stream }
    if let item = try root.scalar("web_order_line_item_id"), item != "0",
      let stream = stream(of: entries, where: { $0.webOrderLineItemId == item })
    {
      return stream
    }
    if let stream = try pending(root, entries) { return stream }
    if let date = try root.date("cancellation_date"),
      let stream = stream(of: entries, where: { $0.revocationDate == date })
    {
      return stream
    }
    return entries.max(by: V1Notification.isOlder)?.originalTransactionId
  }

  /// The stream of the one transaction that is there at the top: an object, or its text.
  private static func object(_ root: JSONElement) throws(PayloadFault) -> String? {
    let name = "original_transaction_id"
    for member in ["latest_receipt_info", "latest_expired_receipt_info"] {
      guard let object = root[member] else { continue }
      guard let text = object.string else {
        if let stream = try object.scalar(name) { return stream }
        continue
      }
      let parsed = try? JSONDocument(parsing: Array(text.utf8), within: .unproven).root
      if let stream = try parsed?.scalar(name) { return stream }
      if let stream = propertyList(text) { return stream }
    }
    return nil
  }

  /// The id in a property list of the form before XML: `{ "original-transaction-id" = "1000"; }`.
  private static func propertyList(_ text: String) -> String? {
    let around: Set<Character> = [" ", "\t", "\n", "\r", "\r\n", "\"", "{", "}"]
    for line in text.split(separator: ";") {
      let sides = line.split(separator: "=").map { $0.filter { !around.contains($0) } }
      guard sides.count == 2, sides[0].replacing("-", with: "_") == "original_transaction_id",
        !sides[1].isEmpty, sides[1].allSatisfy({ ("0"..."9").contains($0) })
      else { continue }
      return sides[1]
    }
    return nil
  }

  /// The stream of the newest of some transactions.
  private static func stream(
    of entries: [Transaction], where isMeant: (Transaction) -> Bool
  ) -> String? {
    entries.filter(isMeant).max(by: V1Notification.isOlder)?.originalTransactionId
  }

  /// The stream that renews as the product at the top; of several, that of the newest transaction.
  private static func pending(
    _ root: JSONElement, _ entries: [Transaction]
  ) throws(PayloadFault) -> String? {
    guard let product = try root.scalar("auto_renew_product_id") else { return nil }
    var streams: [String] = []
    for entry in root["unified_receipt"]?["pending_renewal_info"]?.elements ?? [] {
      guard try entry.scalar("auto_renew_product_id") == product,
        let stream = try entry.scalar("original_transaction_id")
      else { continue }
      streams.append(stream)
    }
    return stream(of: entries) { streams.contains($0.originalTransactionId ?? "") }
      ?? streams.first
  }
}

extension Transaction {
  /// Reads an entry of latest_receipt_info. Returns nil if it has no transaction_id or no
  /// purchase_date.
  ///
  /// `revocationDate` is V1's cancellation date. V1 does not give the product type; an entry with
  /// an expiry date or a subscription group is an auto-renewable subscription, because others have
  /// neither in V1.
  ///
  /// - Throws: `PayloadFault` if a date cannot be read, or for NUL in an identifier.
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
    // Decides nothing, so that one that cannot be read is no fault.
    originalPurchaseDate = try? entry.date("original_purchase_date")
    expiresDate = try entry.date("expires_date")
    let isOneTime = expiresDate == nil && subscriptionGroupIdentifier == nil
    type = isOneTime ? nil : ProductType.autoRenewable
    quantity = entry.number("quantity")
    revocationDate = try entry.date("cancellation_date")
    revocationReason = entry.number("cancellation_reason")
    isUpgraded = entry.flag("is_upgraded") == 1
    try readV1Offer(entry)
  }

  private mutating func readV1Offer(_ entry: JSONElement) throws(PayloadFault) {
    let isTrial = entry.flag("is_trial_period") == 1
    if isTrial { offerDiscountType = "FREE_TRIAL" }
    if let promotion = try entry.scalar("promotional_offer_id") {
      (offerType, offerIdentifier) = (2, promotion)
    } else if let code = try entry.scalar("offer_code_ref_name") {
      (offerType, offerIdentifier) = (3, code)
    } else if isTrial || entry.flag("is_in_intro_offer_period") == 1 {
      offerType = 1
    }
  }
}

extension JSONElement {
  /// A string member, or a number exactly as written; nil if it is absent, empty or of another
  /// kind.
  ///
  /// - Throws: `PayloadFault.nul` if it contains NUL.
  func scalar(_ name: String) throws(PayloadFault) -> String? {
    guard let number = self[name]?.number else { return try identifier(name) }
    return number
  }

  /// A whole number, written as a number or as a string.
  func number(_ name: String) -> Int64? {
    (try? scalar(name)).flatMap { $0 }.flatMap { Int64($0) }
  }

  /// 1 for `"true"`, `"1"`, 1 and true; 0 for their opposites; nil for everything else.
  func flag(_ name: String) -> Int64? {
    if let boolean = self[name]?.boolean { return boolean ? 1 : 0 }
    switch (try? scalar(name)).flatMap({ $0 }) {
    case "true", "1": return 1
    case "false", "0": return 0
    default: return nil
    }
  }

  /// A date in milliseconds since 1970, read from `name_ms` or, in objects from before 2021, from
  /// `name` itself. Bodies from before 2018 have the readable form alone.
  ///
  /// - Throws: `PayloadFault("date")` if a date is there and cannot be read. A subscription
  ///   whose end was ignored would count as a product without an end, and give access for ever
  ///   (promise 8).
  func date(_ name: String) throws(PayloadFault) -> Int64? {
    let readable = try scalar(name)
    guard let text = try scalar(name + "_ms") ?? readable else { return nil }
    guard let date = Int64(text) ?? V1Date.milliseconds(text) else { throw PayloadFault("date") }
    return date
  }
}
