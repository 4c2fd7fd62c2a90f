public import StrictJSON

/// Apple's JWSRenewalInfoDecodedPayload, as far as the fold and the row read it.
///
/// Source: developer.apple.com/documentation/appstoreserverapi/jwsrenewalinfodecodedpayload. Dates
/// are milliseconds since 1970.
public struct RenewalInfo: Sendable, Equatable {
  public var originalTransactionId: String?
  public var productId: String?
  public var autoRenewProductId: String?
  /// 0 off, 1 on.
  public var autoRenewStatus: Int64?
  public var renewalDate: Int64?
  public var expirationIntent: Int64?
  public var isInBillingRetryPeriod: Bool?
  public var gracePeriodExpiresDate: Int64?
  /// 0 consent asked for and not given, 1 given or not needed.
  public var priceIncreaseStatus: Int64?
  public var commitmentAutoRenewStatus: Int64?
  public var appAccountToken: String?
  public var appTransactionId: String?
  public var signedDate: Int64 = 0

  public init() {}

  /// Reads a proven payload.
  ///
  /// - Parameter outerSignedDate: stands in for a missing signedDate.
  /// - Throws: `PayloadFault.forbiddenCharacter` for NUL in an identifier.
  public init(_ object: JSONElement, outerSignedDate: Int64) throws(PayloadFault) {
    originalTransactionId = try object.identifier("originalTransactionId")
    productId = object["productId"]?.string
    autoRenewProductId = object["autoRenewProductId"]?.string
    autoRenewStatus = object["autoRenewStatus"]?.integer
    renewalDate = object["renewalDate"]?.truncatedInteger
    expirationIntent = object["expirationIntent"]?.integer
    isInBillingRetryPeriod = object["isInBillingRetryPeriod"]?.boolean
    gracePeriodExpiresDate = object["gracePeriodExpiresDate"]?.truncatedInteger
    priceIncreaseStatus = object["priceIncreaseStatus"]?.integer
    commitmentAutoRenewStatus = object["commitmentInfo"]?["commitmentAutoRenewStatus"]?.integer
    appAccountToken = object["appAccountToken"]?.string
    appTransactionId = object["appTransactionId"]?.string
    signedDate = object["signedDate"]?.truncatedInteger ?? outerSignedDate
  }
}
