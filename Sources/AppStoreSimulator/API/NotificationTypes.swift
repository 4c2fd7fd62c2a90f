/// Apple's notification types and the subtypes of each (notificationType page).
enum NotificationTypes {
  private static let subtypes: [String: Set<String>] = [
    "DID_CHANGE_RENEWAL_PREF": ["UPGRADE", "DOWNGRADE"],
    "DID_CHANGE_RENEWAL_STATUS": ["AUTO_RENEW_ENABLED", "AUTO_RENEW_DISABLED"],
    "DID_FAIL_TO_RENEW": ["GRACE_PERIOD"],
    "DID_RENEW": ["BILLING_RECOVERY"],
    "EXPIRED": ["VOLUNTARY", "BILLING_RETRY", "PRICE_INCREASE", "PRODUCT_NOT_FOR_SALE"],
    "EXTERNAL_PURCHASE_TOKEN": ["CREATED", "ACTIVE_TOKEN_REMINDER", "UNREPORTED"],
    "OFFER_REDEEMED": ["UPGRADE", "DOWNGRADE"],
    "PRICE_INCREASE": ["PENDING", "ACCEPTED"],
    "RENEWAL_EXTENSION": ["SUMMARY", "FAILURE"],
    "SUBSCRIBED": ["INITIAL_BUY", "RESUBSCRIBE"],
  ]
  private static let withoutSubtype: Set = [
    "CONSUMPTION_REQUEST", "GRACE_PERIOD_EXPIRED", "METADATA_UPDATE", "MIGRATION",
    "ONE_TIME_CHARGE", "PRICE_CHANGE", "REFUND", "REFUND_DECLINED", "REFUND_REVERSED",
    "RENEWAL_EXTENDED", "RESCIND_CONSENT", "REVOKE", "TEST",
  ]

  /// Whether the App Store sends that type with that subtype; nil stands for any subtype.
  static func isValid(_ type: String, _ subtype: String?) -> Bool {
    guard let subtype else { return subtypes[type] != nil || withoutSubtype.contains(type) }
    return subtypes[type]?.contains(subtype) == true
  }
}
