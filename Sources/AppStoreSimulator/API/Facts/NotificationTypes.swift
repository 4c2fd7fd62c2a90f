/// Apple's notification types and the subtypes of each (notificationType page).
enum NotificationTypes {
  private static let subtypes: [String: Set<String>] = [
    "CONSUMPTION_REQUEST": [],
    "DID_CHANGE_RENEWAL_PREF": ["UPGRADE", "DOWNGRADE"],
    "DID_CHANGE_RENEWAL_STATUS": ["AUTO_RENEW_ENABLED", "AUTO_RENEW_DISABLED"],
    "DID_FAIL_TO_RENEW": ["GRACE_PERIOD"],
    "DID_RENEW": ["BILLING_RECOVERY"],
    "EXPIRED": ["VOLUNTARY", "BILLING_RETRY", "PRICE_INCREASE", "PRODUCT_NOT_FOR_SALE"],
    "EXTERNAL_PURCHASE_TOKEN": ["CREATED", "ACTIVE_TOKEN_REMINDER", "UNREPORTED"],
    "GRACE_PERIOD_EXPIRED": [],
    "METADATA_UPDATE": [],
    "MIGRATION": [],
    "OFFER_REDEEMED": ["UPGRADE", "DOWNGRADE"],
    "ONE_TIME_CHARGE": [],
    "PRICE_CHANGE": [],
    "PRICE_INCREASE": ["PENDING", "ACCEPTED"],
    "REFUND": [],
    "REFUND_DECLINED": [],
    "REFUND_REVERSED": [],
    "RENEWAL_EXTENDED": [],
    "RENEWAL_EXTENSION": ["SUMMARY", "FAILURE"],
    "RESCIND_CONSENT": [],
    "REVOKE": [],
    "SUBSCRIBED": ["INITIAL_BUY", "RESUBSCRIBE"],
    "TEST": [],
  ]

  /// Whether the App Store sends that type with that subtype; nil stands for any subtype.
  static func isValid(_ type: String, _ subtype: String?) -> Bool {
    guard let valid = subtypes[type] else { return false }
    return subtype.map(valid.contains) ?? true
  }
}
