/// Short descriptions of notifications by type and subtype.
///
/// Sources: developer.apple.com/documentation/appstoreservernotifications/notificationtype, subtype
/// and notification_type (V1). They are for people to read; no decision depends on them.
public enum TypeDescriptions {
  /// The descriptions of one type: without a subtype, and with each of its subtypes.
  struct Entry: Sendable {
    let alone: String
    let subtypes: [String: String]

    init(_ alone: String, _ subtypes: [String: String] = [:]) {
      self.alone = alone
      self.subtypes = subtypes
    }
  }

  /// The description of a type and subtype; nil for an unknown type.
  ///
  /// - Parameter isV1: whether it is a notification_type of version 1.
  /// - Returns: the description, and whether it covers the subtype; for an unknown subtype it is
  ///   that of the type alone.
  public static func of(
    _ type: String, _ subtype: String?, isV1: Bool
  ) -> (description: String, isWhole: Bool)? {
    guard let entry = (isV1 ? v1 : v2)[type] ?? evidence[type] else { return nil }
    guard let subtype else { return (entry.alone, true) }
    if let description = entry.subtypes[subtype] ?? seats[subtype] { return (description, true) }
    return (entry.alone, false)
  }

  /// Subtypes of which Apple does not say to which types they belong.
  private static let seats = [
    "INCREASE_QUANTITY": "seats added", "DECREASE_QUANTITY": "fewer seats from the next renewal",
  ]

  /// The subtypes that have descriptions of their own, by type of version 2.
  package static var subtypes: [String: Set<String>] { v2.mapValues { Set($0.subtypes.keys) } }

  /// All types that have descriptions, of both versions and of evidence.
  public static var types: [String] { [v2, v1, evidence].flatMap(\.keys).sorted() }

  /// Every type and subtype with its description, in order; of version 1 what version 2 lacks.
  public static var all: [(type: String, subtype: String?, description: String)] {
    let types = v2.merging(v1) { two, _ in two }.merging(evidence) { own, _ in own }
    return types.sorted { $0.key < $1.key }.flatMap { type, entry in
      [(type, nil, entry.alone)]
        + entry.subtypes.sorted { $0.key < $1.key }.map { (type, $0.key, $0.value) }
    }
  }

  /// The types of version 1 that have descriptions.
  package static var v1Types: Set<String> { Set(v1.keys) }

  /// What was learnt without a notification. The types are ours.
  private static let evidence: [String: Entry] = [
    "ACCOUNT_CLAIM": Entry("the backend said: it belongs to an account"),
    "ACCOUNT_RELEASE": Entry("the backend said: it belongs to that account no longer"),
    "GRANT": Entry("the backend granted an entitlement"),
    "GRANT_REVOKE": Entry("the backend ended a grant"),
    "REFUND_WORD": Entry("the backend said what it knows of a request for a refund"),
    "REFUND_WITHHELD": Entry("Apple is told nothing of a request for a refund"),
    "REFUND_SENDING": Entry("Apple is about to be told of a request for a refund"),
    "REFUND_ANSWER": Entry("Apple answered what it was told of a request for a refund"),
    "REFUND_DUE": Entry("three hours are left to answer a request for a refund"),
    "REFUND_MISSED": Entry("the deadline of a request for a refund passed without an answer"),
    "REFUND_CONSENT": Entry("the customer consented that Apple is told, or withdrew it"),
    "CATALOG": Entry("the owner changed which products give which entitlements"),
    "RECEIPT": Entry("a receipt of the app: its purchases as of then"),
  ].merging(
    EventSource.all.compactMap(\.evidenceJWS).map { ($0.notificationType, Entry($0.words)) }
  ) { own, _ in own }

  static let v2: [String: Entry] = [
    "CONSUMPTION_REQUEST": Entry("refund asked for; Apple asks how much was used"),
    "DID_CHANGE_RENEWAL_PREF": Entry(
      "stays with the current product after all",
      [
        "DOWNGRADE": "another product chosen, from the next renewal",
        "UPGRADE": "upgraded, at once",
      ]),
    "DID_CHANGE_RENEWAL_STATUS": Entry(
      "auto-renewal turned on or off",
      [
        "AUTO_RENEW_DISABLED": "auto-renewal turned off",
        "AUTO_RENEW_ENABLED": "auto-renewal turned on",
      ]),
    "DID_FAIL_TO_RENEW": Entry(
      "billing failed, Apple retries", ["GRACE_PERIOD": "billing failed, in grace period"]),
    "DID_RENEW": Entry("renewed", ["BILLING_RECOVERY": "renewed after billing had failed"]),
    "EXPIRED": Entry(
      "expired",
      [
        "BILLING_RETRY": "expired: billing failed to the end",
        "PRICE_INCREASE": "expired: the price increase was not accepted",
        "PRODUCT_NOT_FOR_SALE": "expired: the product is no longer for sale",
        "VOLUNTARY": "expired: auto-renewal was turned off",
      ]),
    "EXTERNAL_PURCHASE_TOKEN": Entry(
      "token for purchases outside the App Store",
      [
        "ACTIVE_TOKEN_REMINDER": "token for outside purchases still runs",
        "CREATED": "token for outside purchases made",
        "UNREPORTED": "token for outside purchases not reported yet",
      ]),
    "GRACE_PERIOD_EXPIRED": Entry("grace period over, Apple still retries"),
    "METADATA_UPDATE": Entry("product's description changed"),
    "MIGRATE": Entry("moved from another subscription"),
    "MIGRATION": Entry("moved from another subscription"),
    "OFFER_REDEEMED": Entry(
      "offer redeemed",
      [
        "DOWNGRADE": "offer redeemed: another product from the next renewal",
        // Until January 2024; SUBSCRIBED since.
        "INITIAL_BUY": "subscribed for the first time, with an offer",
        "RESUBSCRIBE": "subscribed again, with an offer",
        "UPGRADE": "offer redeemed: upgraded, at once",
      ]),
    "ONE_TIME_CHARGE": Entry("one-time purchase"),
    "PRICE_CHANGE": Entry("price of the next renewal changed"),
    "PRICE_INCREASE": Entry(
      "price increase",
      [
        "ACCEPTED": "price increase accepted, or none had to be asked",
        "PENDING": "price increase announced, consent asked for",
      ]),
    "REFUND": Entry("refunded", ["SEATS": "some seats refunded"]),
    "REFUND_DECLINED": Entry("refund declined"),
    "REFUND_REVERSED": Entry("refund reversed"),
    "RENEWAL_EXTENDED": Entry("renewal date extended"),
    "RENEWAL_EXTENSION": Entry(
      "renewal dates being extended",
      ["FAILURE": "renewal date not extended", "SUMMARY": "renewal dates extended, summary"]),
    "RESCIND_CONSENT": Entry("a parent withdrew consent"),
    // The revocationType of the transaction says which of the two.
    "REVOKE": Entry("family sharing ended, or an assigned seat was withdrawn"),
    "SUBSCRIBED": Entry(
      "subscribed",
      ["INITIAL_BUY": "subscribed for the first time", "RESUBSCRIBE": "subscribed again"]),
    "TEST": Entry("test notification"),
    "UNCLAIM_SEATS": Entry("access to be taken from those who hold some seats"),
  ]

  static let v1: [String: Entry] = [
    "CANCEL": Entry("cancelled and refunded, or upgraded"),
    "CONSUMPTION_REQUEST": Entry("refund asked for; Apple asks how much was used"),
    "DID_CHANGE_RENEWAL_PREF": Entry("product of the next renewal chosen"),
    "DID_CHANGE_RENEWAL_STATUS": Entry("auto-renewal turned on or off"),
    "DID_FAIL_TO_RENEW": Entry("billing failed, Apple retries"),
    "DID_RECOVER": Entry("renewed after billing had failed"),
    "DID_RENEW": Entry("renewed"),
    "INITIAL_BUY": Entry("subscribed for the first time"),
    "INTERACTIVE_RENEWAL": Entry("subscribed again or upgraded, by hand"),
    "PRICE_INCREASE_CONSENT": Entry("price increase announced, consent asked for"),
    "REFUND": Entry("refunded"),
    "RENEWAL": Entry("renewed after it had lapsed"),
    "REVOKE": Entry("family sharing ended"),
  ]
}
