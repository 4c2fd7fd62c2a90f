public import StrictJSON

/// Apple's JWSTransactionDecodedPayload, as far as the fold and the row read it.
///
/// Source: developer.apple.com/documentation/appstoreserverapi/jwstransactiondecodedpayload. Dates
/// are milliseconds since 1970, prices milliunits of the currency, percentages milli-percent.
public struct Transaction: Sendable, Equatable {
  /// Apple's terms for twelve monthly payments.
  public struct Commitment: Sendable, Equatable {
    public var billingPeriodNumber: Int64
    public var totalBillingPeriods: Int64
    public var commitmentExpiresDate: Int64?

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

  public init() {}

  /// Reads a proven payload; nil where it cannot be placed: no transactionId or no purchaseDate.
  ///
  /// - Parameter outerSignedDate: stands in for a missing signedDate.
  /// - Throws: `PayloadFault.forbiddenCharacter` for NUL in an identifier.
  public init?(_ object: JSONElement, outerSignedDate: Int64) throws(PayloadFault) {
    originalTransactionId = try object.identifier("originalTransactionId")
    guard let identifier = try object.identifier("transactionId"),
      let purchased = object["purchaseDate"]?.truncatedInteger
    else { return nil }
    transactionId = identifier
    purchaseDate = purchased
    expiresDate = object["expiresDate"]?.truncatedInteger
    signedDate = object["signedDate"]?.truncatedInteger ?? outerSignedDate
    readIdentity(object)
    readMoney(object)
    readRevocation(object)
    commitment = Self.commitment(object["commitmentInfo"])
  }

  private mutating func readIdentity(_ object: JSONElement) {
    previousOriginalTransactionId = object["previousOriginalTransactionId"]?.string
    webOrderLineItemId = object["webOrderLineItemId"]?.string
    appTransactionId = object["appTransactionId"]?.string
    appAccountToken = object["appAccountToken"]?.string
    productId = object["productId"]?.string
    subscriptionGroupIdentifier = object["subscriptionGroupIdentifier"]?.string
    type = object["type"]?.string
    inAppOwnershipType = object["inAppOwnershipType"]?.string
    transactionReason = object["transactionReason"]?.string
    isUpgraded = object["isUpgraded"]?.boolean ?? false
    billingPlanType = object["billingPlanType"]?.string
  }

  private mutating func readMoney(_ object: JSONElement) {
    quantity = object["quantity"]?.integer
    price = object["price"]?.integer
    currency = object["currency"]?.string
    storefront = object["storefront"]?.string
    offerType = object["offerType"]?.integer
    offerIdentifier = object["offerIdentifier"]?.string
    offerDiscountType = object["offerDiscountType"]?.string
    offerPeriod = object["offerPeriod"]?.string
  }

  private mutating func readRevocation(_ object: JSONElement) {
    revocationDate = object["revocationDate"]?.truncatedInteger
    revocationReason = object["revocationReason"]?.integer
    revocationType = object["revocationType"]?.string
    revocationPercentage = object["revocationPercentage"]?.integer
  }

  private static func commitment(_ object: JSONElement?) -> Commitment? {
    guard let object, let period = object["billingPeriodNumber"]?.integer,
      let periods = object["totalBillingPeriods"]?.integer
    else { return nil }
    return Commitment(
      billingPeriodNumber: period, totalBillingPeriods: periods,
      commitmentExpiresDate: object["commitmentExpiresDate"]?.truncatedInteger)
  }
}
