public import StrictJSON

/// Apple's JWSRenewalInfoDecodedPayload, as far as the fold and the row read it.
///
/// Source: developer.apple.com/documentation/appstoreserverapi/jwsrenewalinfodecodedpayload. Dates
/// are milliseconds since 1970.
public struct RenewalInfo: Sendable, Equatable {
  /// What the next renewal costs, and what may bring a customer back. It decides no status.
  public struct Terms: Sendable, Equatable {
    /// Milliunits of the currency; with seats, the average for one.
    public var renewalPrice: Int64?
    public var currency: String?
    public var offerType: Int64?
    public var offerIdentifier: String?
    public var offerDiscountType: String?
    public var offerPeriod: String?
    public var renewalQuantity: Int64?
    public var eligibleWinBackOfferIds: [String] = []
    public var multiSeatInfo: SeatInfo?

    public init() {}
  }

  public var originalTransactionId: String?
  public var productId: String?
  public var autoRenewProductId: String?
  /// 0 off, 1 on.
  public var autoRenewStatus: Int64?
  public var renewalDate: Int64?
  /// Why the subscription expired: 1 cancelled, 2 billing failed, 3 price increase not accepted,
  /// 4 product not for sale, 5 other.
  public var expirationIntent: Int64?
  public var isInBillingRetryPeriod: Bool?
  public var gracePeriodExpiresDate: Int64?
  /// 0: consent was asked for and not given; 1: it was given or is not needed.
  public var priceIncreaseStatus: Int64?
  public var commitmentAutoRenewStatus: Int64?
  public var appAccountToken: String?
  public var appTransactionId: String?
  public var terms = Terms()
  public var signedDate: Int64 = 0

  public init() {}

  /// Reads a proven payload.
  ///
  /// - Parameter outerSignedDate: used if there is no signedDate.
  /// - Throws: `PayloadFault.nul` for NUL in an identifier.
  public init(_ object: JSONElement, outerSignedDate: Int64) throws(PayloadFault) {
    signedDate = outerSignedDate
    var reader = PayloadReader(object, Self.names)
    try visit(&reader)
  }

  /// The same, of what decides a status.
  public var withoutTerms: RenewalInfo {
    var info = self
    info.terms = Terms()
    return info
  }

  /// The members that are read.
  package static let memberNames = PayloadNames.of(Self.self)
  private static let names = JSONNames(memberNames)
}

extension RenewalInfo: SignedPayload {
  @inlinable public mutating func visit<Visitor: PayloadVisitor>(
    _ visitor: inout Visitor
  ) throws(Visitor.Failure) {
    try visitor.number("signedDate", &signedDate, as: .date)
    try visitor.text("originalTransactionId", &originalTransactionId, as: .identifier)
    try visitor.text("productId", &productId)
    try visitor.text("autoRenewProductId", &autoRenewProductId)
    try visitor.number("autoRenewStatus", &autoRenewStatus)
    try visitor.date("renewalDate", &renewalDate, from: signedDate)
    try visitor.number("expirationIntent", &expirationIntent)
    try visitor.date("gracePeriodExpiresDate", &gracePeriodExpiresDate, from: signedDate)
    try visitor.number("priceIncreaseStatus", &priceIncreaseStatus)
    try visitor.number(
      "commitmentAutoRenewStatus", &commitmentAutoRenewStatus, in: "commitmentInfo")
    try visitor.text("appAccountToken", &appAccountToken, as: .filled)
    try visitor.text("appTransactionId", &appTransactionId)
    try visitor.flag("isInBillingRetryPeriod", &isInBillingRetryPeriod)
    try terms.visit(&visitor)
  }
}

extension RenewalInfo.Terms: Payload {
  @inlinable public mutating func visit<Visitor: PayloadVisitor>(
    _ visitor: inout Visitor
  ) throws(Visitor.Failure) {
    try visitor.number("renewalPrice", &renewalPrice)
    try visitor.text("currency", &currency)
    try visitor.number("offerType", &offerType)
    try visitor.text("offerIdentifier", &offerIdentifier)
    try visitor.text("offerDiscountType", &offerDiscountType)
    try visitor.text("offerPeriod", &offerPeriod)
    try visitor.number("renewalQuantity", &renewalQuantity)
    try visitor.texts("eligibleWinBackOfferIds", &eligibleWinBackOfferIds)
    try visitor.object("multiSeatInfo", &multiSeatInfo)
  }
}
