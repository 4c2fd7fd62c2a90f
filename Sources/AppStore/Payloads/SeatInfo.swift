/// Apple's multiSeatInfo, of a transaction and of renewal information: who is charged what.
///
/// Sources: developer.apple.com/documentation/appstoreserverapi/multiseatinfo and
/// renewalmultiseatinfo. Prices are milliunits of the currency.
public struct SeatInfo: Sendable, Equatable {
  /// Some seats at the price of each.
  public struct Tier: Sendable, Equatable {
    public var price: Int64?
    public var quantity: Int64?

    public init() {}
  }

  /// APPLE or DEVELOPER: who invites the members.
  public var invitationManagement: String?
  public var priceTiers: [Tier] = []
  /// Of renewal information.
  public var renewalPriceTiers: [Tier] = []
  /// How many seats were refunded; in the purchaser's transactions alone.
  public var revokedSeatQuantity: Int64?

  public init() {}

  /// What seats cost together: by their tiers, else by the average for one. Nil if that is not
  /// known, or is no number of 64 bits.
  public static func total(
    _ tiers: [Tier], orAverage price: Int64?, of quantity: Int64?
  ) -> Int64? {
    let parts = tiers.isEmpty ? [(price, quantity ?? 1)] : tiers.map { ($0.price, $0.quantity) }
    return parts.reduce(0) { (sum: Int64?, part) in
      guard let sum, let price = part.0, let quantity = part.1 else { return nil }
      let (product, isTooLarge) = price.multipliedReportingOverflow(by: quantity)
      let (total, hasOverflow) = sum.addingReportingOverflow(product)
      return isTooLarge || hasOverflow ? nil : total
    }
  }
}

extension SeatInfo: Payload {
  @inlinable public mutating func visit<Visitor: PayloadVisitor>(
    _ visitor: inout Visitor
  ) throws(Visitor.Failure) {
    try visitor.text("invitationManagement", &invitationManagement)
    try visitor.objects("priceTiers", &priceTiers)
    try visitor.objects("renewalPriceTiers", &renewalPriceTiers)
    try visitor.number("revokedSeatQuantity", &revokedSeatQuantity)
  }
}

extension SeatInfo.Tier: Payload {
  @inlinable public mutating func visit<Visitor: PayloadVisitor>(
    _ visitor: inout Visitor
  ) throws(Visitor.Failure) {
    try visitor.number("price", &price)
    try visitor.number("quantity", &quantity)
  }
}
