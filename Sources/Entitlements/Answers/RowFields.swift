public import AppStore

/// What the row of one customer says at a time.
public struct RowAnswer: Sendable {
  public let key: StreamKey
  public let entitlement: Entitlement
  /// How many events of the stream were folded.
  public let eventCount: Int64
  /// The event with the greatest signed date and UUID.
  public let lastEvent: StreamState.LastEvent?
  /// The original transaction id of the stream that replaced this one (MIGRATION).
  public let succeededBy: String?

  public init(
    key: StreamKey, entitlement: Entitlement, eventCount: Int64, lastEvent: StreamState.LastEvent?,
    succeededBy: String?
  ) {
    self.key = key
    self.entitlement = entitlement
    self.eventCount = eventCount
    self.lastEvent = lastEvent
    self.succeededBy = succeededBy
  }
}

/// A field of a row. `all` is the only list of them: the JSON of a row and its schema, the columns
/// of `entitlement_v1`, and the tables of a mirror follow from it.
public typealias RowField = Field<RowAnswer>

extension RowField {
  /// All of them, in the order of the contract.
  public static var all: [RowField] { RowFields.all }
}

private enum RowFields {
  static let all =
    key + purchase + dates + renewal + ids + money + commitment + events
    + later + terms

  private static let key = KeyFields.all.map { field in RowField(field) { field.value($0.key) } }

  private static let purchase = [
    RowField(
      "transaction_id", .text,
      "The transaction of the period that covers the time, else the newest."
    ) { .of($0.entitlement.purchase?.transactionId) },
    RowField("product_id", .text, "The product that the customer has or had.") {
      .of($0.entitlement.productId)
    },
    RowField("product_type", .text, "The type of the product, as Apple names it.") {
      .of($0.entitlement.purchase?.productType)
    },
    RowField(
      "ownership", .text, "Apple's inAppOwnershipType: \(ValueDescriptions.ownership.list)."
    ) { .of($0.entitlement.purchase?.ownership) },
    RowField(
      "status", .oneOf(Entitlement.Status.allCases.map(\.rawValue)), isRequired: true,
      "What the customer has."
    ) { .text($0.entitlement.status.rawValue) },
    RowField("gives_access", .flag, isRequired: true, "Whether the customer may use the product.") {
      .flag($0.entitlement.givesAccess)
    },
  ]

  private static let dates = [
    RowField("starts_at", .time, "When the transaction was bought or renewed.") {
      .of($0.entitlement.purchase?.startsAt)
    },
    RowField(
      "expires_at", .time,
      "The end of what is paid for, which it excludes; null for a product that never expires."
    ) { .of($0.entitlement.expiresAt) },
    RowField(
      "grace_period_expires_at", .time, of: .row,
      "The end of the last grace period that Apple reported; null if there was none."
    ) { .of($0.entitlement.gracePeriodExpiresAt) },
    RowField(
      "revoked_at", .time, of: .row,
      "When a refund, or the end of family sharing or of an assigned seat, revoked it."
    ) { .of($0.entitlement.revokedAt) },
  ]

  private static let renewal = [
    RowField("auto_renew", .flag, of: .row, "Whether it will renew.") {
      .of($0.entitlement.autoRenew)
    },
    RowField(
      "pending_product_id", .text, "The product that it renews to, if that is another product."
    ) { .of($0.entitlement.pendingProductId) },
    RowField(
      "gap", .flag, isRequired: true,
      "Whether Apple says it runs longer than the paid periods that it reported."
    ) { .flag($0.entitlement.hasGap) },
  ]

  private static let ids = [
    RowField("app_account_token", .text, "The appAccountToken that your app set at the purchase.") {
      .of($0.entitlement.purchase?.appAccountToken)
    },
    RowField("app_transaction_id", .text, "The id of the app download.") {
      .of($0.entitlement.purchase?.appTransactionId)
    },
    RowField("subscription_group_id", .text, "The subscription group of the product.") {
      .of($0.entitlement.purchase?.subscriptionGroupId)
    },
  ]

  private static let money = [
    RowField(
      "offer.type", .integer, isRequired: true,
      "Apple's offerType: \(ValueDescriptions.offerType.list)."
    ) { .of($0.entitlement.purchase?.offer?.type) },
    RowField("offer.identifier", .text, "Apple's identifier of the offer.") {
      .of($0.entitlement.purchase?.offer?.identifier)
    },
    RowField(
      "offer.discount_type", .text,
      "Apple's offerDiscountType: \(ValueDescriptions.offerDiscountType.list)."
    ) { .of($0.entitlement.purchase?.offer?.discountType) },
    RowField("offer.period", .text, "The length of the offer in ISO 8601, such as P1M.") {
      .of($0.entitlement.purchase?.offer?.period)
    },
    RowField(
      "price.milliunits", .integer, isRequired: true,
      "The price in thousandths of the currency's unit: 9990 is 9.99."
    ) { .of($0.entitlement.purchase?.price?.milliunits) },
    RowField("price.currency", .text, column: "currency", "The currency code of ISO 4217.") {
      .of($0.entitlement.purchase?.price?.currency)
    },
    RowField(
      "price_increase", .oneOf(["pending", "accepted"]), of: .row,
      "Whether the customer agreed to a higher price, if Apple asked."
    ) { .of($0.entitlement.priceIncrease.map { $0 == .pending ? "pending" : "accepted" }) },
  ]

  private static let commitment = [
    RowField("commitment.period", .integer, "The number of the current billing period.") {
      .of($0.entitlement.purchase?.commitment?.billingPeriodNumber)
    },
    RowField("commitment.periods", .integer, "The number of billing periods in the commitment.") {
      .of($0.entitlement.purchase?.commitment?.totalBillingPeriods)
    },
    RowField("commitment.ends_at", .time, "When the commitment ends.") {
      .of($0.entitlement.purchase?.commitment?.commitmentExpiresDate)
    },
    RowField("commitment.auto_renew", .flag, of: .row, "Whether another commitment follows.") {
      .of($0.entitlement.commitmentAutoRenew)
    },
    RowField("succeeded_by", .text, of: .row, "The id that replaced this one (MIGRATION).") {
      .of($0.succeededBy)
    },
  ]

  private static let events = [
    RowField(
      "event_count", .integer, of: .row, isRequired: true, "The number of events of this customer."
    ) { .integer($0.eventCount) },
    RowField(
      "last_event.seq", .integer, of: .row, isRequired: true,
      "The position in the journal of the event that was signed last."
    ) { .of($0.lastEvent?.seq) },
    RowField(
      "last_event.notification_uuid", .uuid, of: .row, column: "last_notification_uuid",
      isRequired: true, "Its notificationUUID."
    ) { $0.lastEvent.map { .uuid($0.uuid) } ?? .none },
    RowField(
      "last_event.notification_type", .text, of: .row, column: "last_notification_type",
      isRequired: true, "Its type, as Apple wrote it."
    ) { .of($0.lastEvent?.notificationType) },
    RowField("last_event.subtype", .text, of: .row, column: "last_subtype", "Its subtype.") {
      .of($0.lastEvent?.subtype)
    },
    RowField(
      "last_event.signed_date", .time, of: .row, column: "last_signed_date_ms", isRequired: true,
      "When Apple signed it."
    ) { .of($0.lastEvent?.signedDate) },
    RowField(
      "anomaly", .flag, of: .row, isRequired: true,
      "Whether a transaction has a date, price or quantity that no purchase has."
    ) { .flag($0.entitlement.hasAnomaly) },
  ]

  private static let later = [
    RowField(
      "storefront", .text, mirrorLayout: 2,
      "The country or region of the App Store where it was bought, three letters of ISO 3166-1."
    ) { .of($0.entitlement.purchase?.storefront) },
    RowField(
      "billing_plan", .text, mirrorLayout: 2,
      "Apple's billingPlanType: \(ValueDescriptions.billingPlanType.list)."
    ) { .of($0.entitlement.purchase?.billingPlan) },
    RowField(
      "revocation_percentage", .integer, mirrorLayout: 2,
      "The share of the price that a refund gave back, in thousandths of a percent: 40000 is 40 %; "
        + "null if Apple does not say it."
    ) { .of($0.entitlement.purchase?.revocationPercentage) },
  ]

  private static func term(
    _ name: String, _ kind: RowField.Kind, column: String? = nil, _ meaning: String,
    _ value: @escaping @Sendable (RenewalTerms) -> FieldValue
  ) -> RowField {
    RowField(name, kind, of: .row, column: column, mirrorLayout: 6, meaning) {
      value($0.entitlement.renewalTerms)
    }
  }

  private static let terms = [
    term(
      "renewal_price.milliunits", .integer,
      "The price of the next renewal as Apple states it, in thousandths of the currency's unit; "
        + "null if Apple does not say it."
    ) { .of($0.price?.milliunits) },
    term(
      "renewal_price.currency", .text, column: "renewal_currency",
      "The currency code of ISO 4217 of that price."
    ) { .of($0.price?.currency) },
    term(
      "renewal_offer.type", .integer,
      "The offer of the next renewal. Apple's offerType: \(ValueDescriptions.offerType.list)."
    ) { .of($0.offer?.type) },
    term("renewal_offer.identifier", .text, "Apple's identifier of that offer.") {
      .of($0.offer?.identifier)
    },
    term(
      "renewal_offer.discount_type", .text,
      "Apple's offerDiscountType: \(ValueDescriptions.offerDiscountType.list)."
    ) { .of($0.offer?.discountType) },
    term("renewal_offer.period", .text, "The length of that offer in ISO 8601, such as P1M.") {
      .of($0.offer?.period)
    },
    term("renewal_quantity", .integer, "How many the next renewal is for: of a team, its seats.") {
      .of($0.quantity)
    },
    term("win_back_offers", .texts, "Win-back offers that Apple says the customer may have.") {
      $0.winBackOffers.isEmpty ? .none : .texts($0.winBackOffers)
    },
    term(
      "expiration_reason", .text,
      "Why it did not renew, in a word for Apple's expirationIntent: "
        + "\(ValueDescriptions.expirationIntent.list)."
    ) { .of($0.expirationReason) },
    RowField(
      "seats", .integer, mirrorLayout: 6,
      "The seats that are paid for and not refunded; null of a purchase without seats."
    ) { .of($0.entitlement.seats) },
  ]
}

/// What names a customer's row, and each of the lines about its purchases.
enum KeyFields {
  static let all = [
    Field<StreamKey>(
      "environment", .oneOf(Environment.all.map(\.rawValue)), of: .key, isRequired: true,
      "Apple's environment."
    ) { .text($0.environment.rawValue) },
    Field<StreamKey>(
      "bundle_id", .text, of: .key, isRequired: true, "The bundle id of the app."
    ) { .text($0.bundleId) },
    Field<StreamKey>(
      "original_transaction_id", .text, of: .key, isRequired: true,
      "The id that stays the same over all renewals of the purchase."
    ) { .text($0.originalTransactionId) },
  ]
}
