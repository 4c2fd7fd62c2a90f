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
public struct RowField: Sendable {
  public enum Kind: Sendable {
    case text, integer, flag, uuid
    /// Milliseconds since 1970.
    case time
    case oneOf([String])
  }

  /// What a field depends on.
  public enum Place: Sendable {
    case key
    /// The same at every time.
    case row
    /// Another one for each time.
    case span
  }

  public enum Value: Sendable {
    case none
    case text(String)
    case integer(Int64)
    case flag(Bool)
    case uuid(NotificationUUID)
  }

  /// The member of the JSON object, or `object.member`: that object is null if its first member is.
  public let name: String
  /// The column in SQL.
  public let column: String
  public let kind: Kind
  public let place: Place
  public let isOptional: Bool
  /// The first layout of a mirror's tables that has it.
  public let mirrorLayout: Int64
  /// One sentence.
  public let meaning: String
  public let value: @Sendable (RowAnswer) -> Value

  /// - Parameter column: nil for that which follows from the name and the kind.
  fileprivate init(
    _ name: String, _ kind: Kind, of place: Place = .span, column: String? = nil,
    isRequired: Bool = false, mirrorLayout: Int64 = 1, _ meaning: String,
    _ value: @escaping @Sendable (RowAnswer) -> Value
  ) {
    self.name = name
    self.kind = kind
    self.place = place
    self.mirrorLayout = mirrorLayout
    self.meaning = meaning
    self.value = value
    isOptional = !isRequired
    let words = name.split(separator: ".").joined(separator: "_")
    if case .time = kind {
      self.column = column ?? words + "_ms"
    } else {
      self.column = column ?? words
    }
  }
}

extension RowField {
  /// A member of the JSON object: one field, or an object of several.
  public struct Member: Sendable {
    public let name: String
    /// With the names that they have in the object.
    public fileprivate(set) var fields: [(name: String, field: RowField)]
    public let isObject: Bool
  }

  /// All members, in the order of the contract.
  public static let members: [Member] = {
    var members: [Member] = []
    for field in all {
      let names = field.name.split(separator: ".").map(String.init)
      if names.count > 1, members.last?.name == names[0] {
        members[members.count - 1].fields.append((names[1], field))
      } else {
        members.append(
          Member(
            name: names[0], fields: [(names[names.count - 1], field)], isObject: names.count > 1))
      }
    }
    return members
  }()
}

extension RowField.Value {
  fileprivate static func of(_ text: String?) -> Self { text.map { .text($0) } ?? .none }
  fileprivate static func of(_ number: Int64?) -> Self { number.map { .integer($0) } ?? .none }
  fileprivate static func of(_ flag: Bool?) -> Self { flag.map { .flag($0) } ?? .none }
}

extension RowField {
  /// All of them, in the order of the contract.
  public static let all =
    key + purchase + dates + renewal + ids + money + commitment + events
    + later

  private static let key = [
    RowField(
      "environment", .oneOf(Environment.all.map(\.rawValue)), of: .key, isRequired: true,
      "Apple's environment."
    ) { .text($0.key.environment.rawValue) },
    RowField("bundle_id", .text, of: .key, isRequired: true, "The bundle id of the app.") {
      .text($0.key.bundleId)
    },
    RowField(
      "original_transaction_id", .text, of: .key, isRequired: true,
      "The id that stays the same over all renewals of the purchase."
    ) { .text($0.key.originalTransactionId) },
  ]

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
      "billing_plan", .text, mirrorLayout: 2, "Apple's billingPlanType, such as MONTHLY."
    ) { .of($0.entitlement.purchase?.billingPlan) },
    RowField(
      "revocation_percentage", .integer, mirrorLayout: 2,
      "The share of the price that a refund gave back, in thousandths of a percent: 40000 is 40 %; "
        + "null if Apple does not say it."
    ) { .of($0.entitlement.purchase?.revocationPercentage) },
  ]
}
