import StrictJSON

/// Version 1 notifications (responseBodyV1), which Apple sent until version 2 replaced them.
///
/// Source: developer.apple.com/documentation/appstoreservernotifications/responsebodyv1.
enum VersionOne {
  /// The most transactions that Apple lists.
  private static let longestList = 100

  /// The notification that tells what a version 2 notification does, without `password` and
  /// `latest_receipt`; nil for what version 1 has no type for.
  ///
  /// - Parameter account: the customer's, the notification included.
  static func body(
    _ notification: SimulatedNotification, _ account: CustomerAccount, _ app: SimulatedApp
  ) -> JSONValue? {
    guard let data = notification.payload["data"], let transaction = notification.transaction,
      let type = type(notification, transaction)
    else { return nil }
    var members: [(String, JSONValue)] = [
      ("notification_type", .string(type)),
      ("environment", .string(app.isProduction ? "PROD" : "Sandbox")),
      ("bid", .string(app.bundleId)), ("bvrs", .string(app.bundleVersion)),
      (
        "original_transaction_id",
        .number(transaction.text("originalTransactionId") ?? "0")
      ),
    ]
    if let renewal = data["renewalInfo"], let isOn = renewal.number("autoRenewStatus") {
      members.append(("auto_renew_status", .string(isOn == 1 ? "true" : "false")))
      if let product = renewal.text("autoRenewProductId") {
        members.append(("auto_renew_product_id", .string(product)))
      }
    }
    if type == "DID_CHANGE_RENEWAL_STATUS" {
      members += ReceiptFields.date("auto_renew_status_change_date", notification.signedDate)
    }
    let newest = account.transactions.suffix(longestList).reversed()
    members.append(
      (
        "unified_receipt",
        .object([
          ("environment", .string(app.environment)), ("status", .integer(0)),
          ("latest_receipt_info", .array(newest.map(ReceiptFields.transaction))),
          ("pending_renewal_info", .array(account.renewals.map(ReceiptFields.renewal))),
        ])
      ))
    return .object(members)
  }

  /// The body as it is sent.
  ///
  /// - Parameter receipt: in base64.
  static func complete(_ body: JSONValue, receipt: String, password: String) -> JSONValue {
    guard case .object(let members) = body else { return body }
    return .object(
      [("password", .string(password))]
        + members.map { name, value in
          guard name == "unified_receipt", case .object(let inner) = value else {
            return (name, value)
          }
          return (name, .object(inner + [("latest_receipt", .string(receipt))]))
        })
  }

  /// Version 1's name for what a notification tells.
  private static func type(
    _ notification: SimulatedNotification, _ transaction: JSONValue
  ) -> String? {
    let isSubscription = transaction.text("type") == Product.Kind.autoRenewable.rawValue
    switch (notification.type, notification.subtype) {
    case ("SUBSCRIBED", "INITIAL_BUY"?): return "INITIAL_BUY"
    case ("SUBSCRIBED", _): return "INTERACTIVE_RENEWAL"
    case ("DID_RENEW", "BILLING_RECOVERY"?): return "DID_RECOVER"
    case ("DID_CHANGE_RENEWAL_PREF", "UPGRADE"?): return "INTERACTIVE_RENEWAL"
    case ("PRICE_INCREASE", _): return "PRICE_INCREASE_CONSENT"
    case ("REFUND", _): return isSubscription ? "CANCEL" : "REFUND"
    case ("DID_RENEW", _), ("DID_CHANGE_RENEWAL_STATUS", _), ("DID_CHANGE_RENEWAL_PREF", _),
      ("DID_FAIL_TO_RENEW", _), ("REVOKE", _), ("CONSUMPTION_REQUEST", _):
      return notification.type
    default: return nil
    }
  }
}
