import AppStore

/// What Apple says of the next renewal, and why the last one was not made.
public struct RenewalTerms: Sendable, Equatable {
  /// Of all seats together.
  public var price: Purchase.Price?
  public var offer: Purchase.Offer?
  /// How many are bought: of seats, their number.
  public var quantity: Int64?
  /// The offers that may bring the customer back, in Apple's order.
  public var winBackOffers: [String] = []
  /// Apple's expirationIntent by its name; one that is not known as the number.
  public var expirationReason: String?

  public init() {}

  init(_ info: RenewalInfo) {
    let terms = info.terms
    var total = terms.renewalPrice
    if let seats = terms.multiSeatInfo {
      total = SeatInfo.total(
        seats.renewalPriceTiers, orAverage: total, of: terms.renewalQuantity)
    }
    price = total.map { Purchase.Price(milliunits: $0, currency: terms.currency) }
    offer = terms.offerType.map {
      Purchase.Offer(
        type: $0, identifier: terms.offerIdentifier, discountType: terms.offerDiscountType,
        period: terms.offerPeriod)
    }
    quantity = terms.renewalQuantity
    winBackOffers = terms.eligibleWinBackOfferIds
    expirationReason = info.expirationIntent.map {
      ValueDescriptions.expirationIntent[String($0)] ?? String($0)
    }
  }

  private static let offerColumns = [
    "renewal_offer_type", "renewal_offer_identifier", "renewal_offer_discount_type",
    "renewal_offer_period",
  ]

  /// Visits every value: the only list of what a projection stores of it.
  public mutating func visit(_ visitor: inout some PurchaseVisitor) {
    Purchase.Price.visit(&price, "renewal_price_milliunits", "renewal_currency", &visitor)
    Purchase.Offer.visit(&offer, Self.offerColumns, &visitor)
    visitor.integer("renewal_quantity", &quantity)
    visitor.texts("win_back_offers", &winBackOffers)
    visitor.text("expiration_reason", &expirationReason)
  }
}
