/// The notification types for which this program has rules or descriptions. They are no condition
/// of acceptance: a notification of an unknown type is journaled, folded by the objects it carries,
/// and counted.
public enum NotificationTypes {
  /// developer.apple.com/documentation/appstoreservernotifications/notificationtype, and MIGRATE,
  /// which Apple's changelog of March 2025 writes for MIGRATION.
  public static let v2: Set<String> = [
    "CONSUMPTION_REQUEST", "DID_CHANGE_RENEWAL_PREF", "DID_CHANGE_RENEWAL_STATUS",
    "DID_FAIL_TO_RENEW", "DID_RENEW", "EXPIRED", "EXTERNAL_PURCHASE_TOKEN",
    "GRACE_PERIOD_EXPIRED", "METADATA_UPDATE", "MIGRATE", "MIGRATION", "OFFER_REDEEMED",
    "ONE_TIME_CHARGE", "PRICE_CHANGE", "PRICE_INCREASE", "REFUND", "REFUND_DECLINED",
    "REFUND_REVERSED", "RENEWAL_EXTENDED", "RENEWAL_EXTENSION", "RESCIND_CONSENT", "REVOKE",
    "SUBSCRIBED", "TEST", "UNCLAIM_SEATS",
  ]

  /// developer.apple.com/documentation/appstoreservernotifications/notification_type, with RENEWAL,
  /// which was removed in March 2021.
  public static let v1: Set<String> = [
    "CANCEL", "CONSUMPTION_REQUEST", "DID_CHANGE_RENEWAL_PREF", "DID_CHANGE_RENEWAL_STATUS",
    "DID_FAIL_TO_RENEW", "DID_RECOVER", "DID_RENEW", "INITIAL_BUY", "INTERACTIVE_RENEWAL",
    "PRICE_INCREASE_CONSENT", "REFUND", "RENEWAL", "REVOKE",
  ]
}
