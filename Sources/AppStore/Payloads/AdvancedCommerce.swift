/// Apple's advancedCommerceInfo of a transaction, as far as it is read: what was refunded of which
/// item. Such transactions have no revocationType.
///
/// Sources: developer.apple.com/documentation/appstoreserverapi/advancedcommercetransactioninfo and
/// advancedcommercerefund.
public struct AdvancedCommerce: Sendable, Equatable {
  /// An item of the purchase.
  public struct Item: Sendable, Equatable {
    public var refunds: [Refund] = []

    public init() {}
  }

  /// What was given back of an item: when, in milliseconds since 1970, and milliunits.
  public struct Refund: Sendable, Equatable {
    public var date: Int64?
    public var amount: Int64?
    public var type: String?

    public init() {}
  }

  public var items: [Item] = []

  public init() {}
}

extension AdvancedCommerce: Payload {
  @inlinable public mutating func visit<Visitor: PayloadVisitor>(
    _ visitor: inout Visitor
  ) throws(Visitor.Failure) {
    try visitor.objects("items", &items)
  }
}

extension AdvancedCommerce.Item: Payload {
  @inlinable public mutating func visit<Visitor: PayloadVisitor>(
    _ visitor: inout Visitor
  ) throws(Visitor.Failure) {
    try visitor.objects("refunds", &refunds)
  }
}

extension AdvancedCommerce.Refund: Payload {
  @inlinable public mutating func visit<Visitor: PayloadVisitor>(
    _ visitor: inout Visitor
  ) throws(Visitor.Failure) {
    try visitor.date("refundDate", &date, from: 0)
    try visitor.number("refundAmount", &amount)
    try visitor.text("refundType", &type)
  }
}
