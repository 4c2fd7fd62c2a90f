import Platform
import StrictJSON

/// Transactions and renewals as Apple's `verifyReceipt` and version 1 show them: every value is
/// text, and a date is written twice, readable and in milliseconds.
///
/// Source: developer.apple.com/documentation/appstorereceipts/responsebody. Apple writes a third
/// form of each date, in the time of its headquarters, which is left out here.
enum ReceiptFields {
  /// An entry of `latest_receipt_info`.
  ///
  /// - Parameter transaction: JWSTransactionDecodedPayload.
  static func transaction(_ transaction: JSONValue) -> JSONValue {
    var members = Members()
    members.add("quantity", transaction.number("quantity").map { String($0) })
    members.add("product_id", transaction.text("productId"))
    members.add("transaction_id", transaction.text("transactionId"))
    members.add("original_transaction_id", transaction.text("originalTransactionId"))
    members.list += date("purchase_date", transaction.number("purchaseDate"))
    members.list += date("original_purchase_date", transaction.number("originalPurchaseDate"))
    members.list += date("expires_date", transaction.number("expiresDate"))
    members.add("web_order_line_item_id", transaction.text("webOrderLineItemId"))
    let isTrial = transaction.text("offerDiscountType") == "FREE_TRIAL"
    members.add("is_trial_period", isTrial ? "true" : "false")
    let isIntroductory = transaction.number("offerType") == 1
    members.add("is_in_intro_offer_period", isIntroductory && !isTrial ? "true" : "false")
    members.add("in_app_ownership_type", transaction.text("inAppOwnershipType"))
    members.add("subscription_group_identifier", transaction.text("subscriptionGroupIdentifier"))
    members.add("app_account_token", transaction.text("appAccountToken"))
    switch transaction.number("offerType") {
    case 2: members.add("promotional_offer_id", transaction.text("offerIdentifier"))
    case 3: members.add("offer_code_ref_name", transaction.text("offerIdentifier"))
    default: break
    }
    if let date = transaction.number("revocationDate") {
      members.list += Self.date("cancellation_date", date)
      members.add("cancellation_reason", String(transaction.number("revocationReason") ?? 0))
    }
    return .object(members.list)
  }

  /// An entry of `pending_renewal_info`.
  ///
  /// - Parameter renewal: JWSRenewalInfoDecodedPayload.
  static func renewal(_ renewal: JSONValue) -> JSONValue {
    var members = Members()
    members.add("original_transaction_id", renewal.text("originalTransactionId"))
    members.add("product_id", renewal.text("productId"))
    members.add("auto_renew_product_id", renewal.text("autoRenewProductId"))
    members.add("auto_renew_status", renewal.number("autoRenewStatus").map { String($0) })
    members.add("expiration_intent", renewal.number("expirationIntent").map { String($0) })
    if case .boolean(let isRetrying) = renewal["isInBillingRetryPeriod"] {
      members.add("is_in_billing_retry_period", isRetrying ? "1" : "0")
    }
    members.list += date("grace_period_expires_date", renewal.number("gracePeriodExpiresDate"))
    members.add("price_consent_status", renewal.number("priceIncreaseStatus").map { String($0) })
    return .object(members.list)
  }

  /// The forms of a date, milliseconds since 1970; none without one.
  static func date(_ name: String, _ date: Int64?) -> [(String, JSONValue)] {
    guard let date else { return [] }
    let second = Timestamp.text(date - ((date % 1000) + 1000) % 1000)
    let readable = second.dropLast().map { $0 == "T" ? " " : $0 }
    return [
      (name, .string(String(readable) + " Etc/GMT")), (name + "_ms", .string(String(date))),
    ]
  }
}
