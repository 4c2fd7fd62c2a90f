/// Strings that occur in most customers' objects: every encoded state refers to them by number.
///
/// Their order is part of the format (`EntitlementRow.format`). A string that is not here is
/// written out once in each row, at the cost of its length.
enum PredefinedStrings {
  static let all = [
    // type, inAppOwnershipType, transactionReason (developer.apple.com/documentation/
    // appstoreserverapi/jwstransactiondecodedpayload)
    "Auto-Renewable Subscription", "Non-Renewing Subscription", "Consumable", "Non-Consumable",
    "PURCHASED", "FAMILY_SHARED", "PURCHASE", "RENEWAL",
    // offerDiscountType, and ISO 8601 durations that offers have
    "FREE_TRIAL", "PAY_AS_YOU_GO", "PAY_UP_FRONT", "ONE_TIME",
    "P3D", "P1W", "P2W", "P1M", "P2M", "P3M", "P6M", "P1Y",
    // The largest storefronts (ISO 3166-1) and their currencies (ISO 4217)
    "USA", "USD", "CHN", "CNY", "JPN", "JPY", "GBR", "GBP", "DEU", "FRA", "ITA", "ESP", "EUR",
    "CAN", "CAD", "AUS", "AUD", "KOR", "KRW", "BRA", "BRL",
    // Types and subtypes of notifications that are frequent, or often the last of a stream
    "DID_RENEW", "EXPIRED", "SUBSCRIBED", "DID_CHANGE_RENEWAL_STATUS", "DID_FAIL_TO_RENEW",
    "DID_CHANGE_RENEWAL_PREF", "ONE_TIME_CHARGE", "REFUND", "GRACE_PERIOD_EXPIRED",
    "OFFER_REDEEMED", "PRICE_INCREASE", "REVOKE",
    "VOLUNTARY", "BILLING_RETRY", "AUTO_RENEW_DISABLED", "AUTO_RENEW_ENABLED", "INITIAL_BUY",
    "RESUBSCRIBE", "BILLING_RECOVERY", "GRACE_PERIOD", "UPGRADE", "DOWNGRADE",
  ]
}
