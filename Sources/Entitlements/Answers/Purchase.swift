public import AppStore

/// What a row shows of a transaction.
public struct Purchase: Sendable, Equatable {
  /// The offer that the transaction was bought with, in Apple's words.
  public struct Offer: Sendable, Hashable {
    public var type: Int64
    public var identifier: String?
    public var discountType: String?
    /// An ISO 8601 duration.
    public var period: String?

    public init(type: Int64, identifier: String?, discountType: String?, period: String?) {
      self.type = type
      self.identifier = identifier
      self.discountType = discountType
      self.period = period
    }
  }

  public struct Price: Sendable, Equatable {
    /// Thousandths of the currency's unit.
    public var milliunits: Int64
    /// ISO 4217.
    public var currency: String?

    public init(milliunits: Int64, currency: String?) {
      self.milliunits = milliunits
      self.currency = currency
    }
  }

  public var transactionId: String
  public var productType: String?
  public var ownership: String?
  public var subscriptionGroupId: String?
  /// The purchase date, milliseconds since 1970.
  public var startsAt: Int64
  public var appAccountToken: String?
  public var appTransactionId: String?
  public var offer: Offer?
  public var price: Price?
  public var commitment: Transaction.Commitment?
  public var storefront: String?
  /// Apple's billingPlanType.
  public var billingPlan: String?
  /// The refunded share of the price in thousandths of a percent.
  public var revocationPercentage: Int64?

  public init(
    transactionId: String, productType: String?, ownership: String?, subscriptionGroupId: String?,
    startsAt: Int64
  ) {
    self.transactionId = transactionId
    self.productType = productType
    self.ownership = ownership
    self.subscriptionGroupId = subscriptionGroupId
    self.startsAt = startsAt
  }

  init(_ register: StreamState.TransactionRegister) {
    let held = register.held
    self.init(
      transactionId: held.transaction.transactionId, productType: held.transaction.type,
      ownership: register.ownership, subscriptionGroupId: register.subscriptionGroup,
      startsAt: held.transaction.purchaseDate)
    appAccountToken = register.accountToken
    appTransactionId = held.transaction.appTransactionId
    offer = register.offer
    price = register.price
    commitment = held.transaction.commitment
    storefront = held.transaction.storefront
    billingPlan = held.transaction.billingPlanType
    revocationPercentage = held.transaction.revocationPercentage
  }
}

/// Receives each value of a purchase, or of its renewal, by the name of its column, and by
/// reference: writes it somewhere, or fills it.
public protocol PurchaseVisitor {
  mutating func text(_ column: String, _ value: inout String?)
  mutating func integer(_ column: String, _ value: inout Int64?)
  mutating func texts(_ column: String, _ value: inout [String])
}

extension Purchase {
  /// Visits every value: the only list of what a projection stores of a purchase.
  public mutating func visit(_ visitor: inout some PurchaseVisitor) {
    var (id, starts) = (Optional(transactionId), Optional(startsAt))
    visitor.text("transaction_id", &id)
    visitor.text("product_type", &productType)
    visitor.text("ownership", &ownership)
    visitor.integer("starts_at_ms", &starts)
    (transactionId, startsAt) = (id ?? "", starts ?? 0)
    visitor.text("app_account_token", &appAccountToken)
    visitor.text("app_transaction_id", &appTransactionId)
    visitor.text("subscription_group_id", &subscriptionGroupId)
    Offer.visit(&offer, Self.offerColumns, &visitor)
    Price.visit(&price, "price_milliunits", "currency", &visitor)
    visitCommitment(&visitor)
    visitor.text("storefront", &storefront)
    visitor.text("billing_plan", &billingPlan)
    visitor.integer("revocation_percentage", &revocationPercentage)
  }

  private static let offerColumns = [
    "offer_type", "offer_identifier", "offer_discount_type", "offer_period",
  ]

  private mutating func visitCommitment(_ visitor: inout some PurchaseVisitor) {
    var (period, periods) = (commitment?.billingPeriodNumber, commitment?.totalBillingPeriods)
    var end = commitment?.commitmentExpiresDate
    visitor.integer("commitment_period", &period)
    visitor.integer("commitment_periods", &periods)
    visitor.integer("commitment_ends_at_ms", &end)
    commitment = period.map {
      Transaction.Commitment(
        billingPeriodNumber: $0, totalBillingPeriods: periods ?? 0, commitmentExpiresDate: end)
    }
  }
}

extension Purchase.Offer {
  /// Nil if the transaction names none.
  init?(_ transaction: Transaction) {
    guard let type = transaction.offerType else { return nil }
    self.init(
      type: type, identifier: transaction.offerIdentifier,
      discountType: transaction.offerDiscountType, period: transaction.offerPeriod)
  }

  /// - Parameter columns: of the members, in their order.
  static func visit(
    _ offer: inout Self?, _ columns: [String], _ visitor: inout some PurchaseVisitor
  ) {
    var (type, identifier) = (offer?.type, offer?.identifier)
    var (discountType, period) = (offer?.discountType, offer?.period)
    visitor.integer(columns[0], &type)
    visitor.text(columns[1], &identifier)
    visitor.text(columns[2], &discountType)
    visitor.text(columns[3], &period)
    offer = type.map {
      Self(type: $0, identifier: identifier, discountType: discountType, period: period)
    }
  }
}

extension Purchase.Price {
  /// Of all seats together. Nil if the transaction does not say what was paid.
  init?(_ transaction: Transaction) {
    var total = transaction.price
    if let seats = transaction.multiSeatInfo {
      total = SeatInfo.total(seats.priceTiers, orAverage: total, of: transaction.quantity)
    }
    guard let total else { return nil }
    self.init(milliunits: total, currency: transaction.currency)
  }

  static func visit(
    _ price: inout Self?, _ amount: String, _ name: String, _ visitor: inout some PurchaseVisitor
  ) {
    var (milliunits, currency) = (price?.milliunits, price?.currency)
    visitor.integer(amount, &milliunits)
    visitor.text(name, &currency)
    price = milliunits.map { Self(milliunits: $0, currency: currency) }
  }
}
