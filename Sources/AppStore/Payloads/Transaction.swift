public import StrictJSON

/// Apple's JWSTransactionDecodedPayload, as far as the fold and the row read it.
///
/// Source: developer.apple.com/documentation/appstoreserverapi/jwstransactiondecodedpayload. Dates
/// are milliseconds since 1970, prices milliunits of the currency, percentages milli-percent.
public struct Transaction: Sendable, Equatable {
  /// Apple's commitmentInfo: the customer agreed to twelve monthly payments.
  public struct Commitment: Sendable, Equatable {
    public var billingPeriodNumber: Int64
    public var totalBillingPeriods: Int64
    public var commitmentExpiresDate: Int64?

    public init() { (billingPeriodNumber, totalBillingPeriods) = (0, 0) }

    public init(
      billingPeriodNumber: Int64, totalBillingPeriods: Int64, commitmentExpiresDate: Int64?
    ) {
      self.billingPeriodNumber = billingPeriodNumber
      self.totalBillingPeriods = totalBillingPeriods
      self.commitmentExpiresDate = commitmentExpiresDate
    }
  }

  public var transactionId = ""
  public var originalTransactionId: String?
  public var previousOriginalTransactionId: String?
  public var webOrderLineItemId: String?
  public var appTransactionId: String?
  public var appAccountToken: String?
  public var productId: String?
  public var subscriptionGroupIdentifier: String?
  public var type: String?
  public var inAppOwnershipType: String?
  public var transactionReason: String?
  public var purchaseDate: Int64 = 0
  /// Of the transaction that the original transaction id names.
  public var originalPurchaseDate: Int64?
  public var expiresDate: Int64?
  public var signedDate: Int64 = 0
  public var quantity: Int64?
  public var price: Int64?
  public var currency: String?
  public var storefront: String?
  public var offerType: Int64?
  public var offerIdentifier: String?
  public var offerDiscountType: String?
  public var offerPeriod: String?
  /// Present only when true.
  public var isUpgraded = false
  public var revocationDate: Int64?
  public var revocationReason: Int64?
  public var revocationType: String?
  public var revocationPercentage: Int64?
  public var billingPlanType: String?
  public var commitment: Commitment?
  /// SEAT_ADDITION, once seats were added to its period.
  public var additionalTransactionReason: String?
  /// Of a purchase of several seats. Its price is then the average for one.
  public var multiSeatInfo: SeatInfo?
  /// Of a purchase by the Advanced Commerce API.
  public var advancedCommerce: AdvancedCommerce?

  public init() {}

  /// Reads a proven payload. Returns nil if it has no transactionId or no purchaseDate, because the
  /// fold cannot use it then.
  ///
  /// - Parameter outerSignedDate: used if there is no signedDate.
  /// - Throws: `PayloadFault.nul` for NUL in an identifier.
  public init?(_ object: JSONElement, outerSignedDate: Int64) throws(PayloadFault) {
    signedDate = outerSignedDate
    var reader = PayloadReader(object, Self.names)
    try visit(&reader)
    guard reader.missing.allSatisfy({ $0 == "signedDate" }) else { return nil }
  }

  /// The members that are read.
  package static let memberNames = PayloadNames.of(Self.self)
  private static let names = JSONNames(memberNames)
}

extension Transaction: SignedPayload {
  @inlinable public mutating func visit<Visitor: PayloadVisitor>(
    _ visitor: inout Visitor
  ) throws(Visitor.Failure) {
    try visitor.text("transactionId", &transactionId)
    try visitor.number("purchaseDate", &purchaseDate, as: .date)
    try visitor.date("originalPurchaseDate", &originalPurchaseDate, from: purchaseDate)
    // A value that is not a date must not count as "never expires" (promise 8).
    try visitor.date("expiresDate", &expiresDate, from: purchaseDate, as: .end)
    try visitor.number("signedDate", &signedDate, as: .date, from: purchaseDate)
    try visitor.text("originalTransactionId", &originalTransactionId, as: .identifier)
    try visitor.text("previousOriginalTransactionId", &previousOriginalTransactionId)
    try visitor.text("webOrderLineItemId", &webOrderLineItemId)
    try visitor.text("appTransactionId", &appTransactionId)
    try visitor.text("appAccountToken", &appAccountToken, as: .filled)
    try visitor.text("productId", &productId)
    try visitor.text("subscriptionGroupIdentifier", &subscriptionGroupIdentifier)
    try visitor.text("type", &type)
    try visitor.text("inAppOwnershipType", &inAppOwnershipType)
    try visitor.text("transactionReason", &transactionReason)
    try visitor.text("billingPlanType", &billingPlanType)
    try visitor.flag("isUpgraded", &isUpgraded)
    try visitor.number("quantity", &quantity)
    try visitor.number("price", &price)
    try visitor.text("currency", &currency)
    try visitor.text("storefront", &storefront)
    try visitor.number("offerType", &offerType)
    try visitor.text("offerIdentifier", &offerIdentifier)
    try visitor.text("offerDiscountType", &offerDiscountType)
    try visitor.text("offerPeriod", &offerPeriod)
    try visitor.date("revocationDate", &revocationDate, from: purchaseDate)
    try visitor.number("revocationReason", &revocationReason)
    try visitor.text("revocationType", &revocationType)
    try visitor.number("revocationPercentage", &revocationPercentage)
    try visitor.object("commitmentInfo", &commitment)
    try visitor.text("additionalTransactionReason", &additionalTransactionReason)
    try visitor.object("multiSeatInfo", &multiSeatInfo)
    try visitor.object("advancedCommerceInfo", &advancedCommerce)
  }
}

extension Transaction.Commitment: Payload {
  @inlinable public mutating func visit<Visitor: PayloadVisitor>(
    _ visitor: inout Visitor
  ) throws(Visitor.Failure) {
    try visitor.number("billingPeriodNumber", &billingPeriodNumber)
    try visitor.number("totalBillingPeriods", &totalBillingPeriods)
    try visitor.date("commitmentExpiresDate", &commitmentExpiresDate, from: 0)
  }
}

/// The kinds of products in Apple's words, as `Transaction.type` has them.
///
/// Source: developer.apple.com/documentation/appstoreserverapi/type. What is named and is none of
/// these four covers nothing without an expiry date: nobody knows for how long it was sold.
public enum ProductType {
  public static let autoRenewable = "Auto-Renewable Subscription"
  public static let nonRenewing = "Non-Renewing Subscription"
  public static let consumable = "Consumable"
  public static let nonConsumable = "Non-Consumable"

  /// Apple's four.
  public static let all: Set = [autoRenewable, nonRenewing, consumable, nonConsumable]
}

extension JSONElement {
  /// A date of version 2, milliseconds since 1970: a number, whose fraction is dropped, or a text
  /// of digits, which some senders of notifications make of it. Nil for anything else.
  var date: Int64? {
    if kind == .number { return truncatedInteger }
    guard let text = string, text.utf8.allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "9")).contains)
    else { return nil }
    return Int64(text)
  }

  /// A text that is not empty; nil for anything else.
  var filledText: String? { string.flatMap { $0.isEmpty ? nil : $0 } }
}
