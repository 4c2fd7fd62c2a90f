import Platform
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
  public var signedDate: Int64 = 0

  public init() {}

  /// Reads a proven payload.
  ///
  /// - Parameter outerSignedDate: used if there is no signedDate.
  /// - Throws: `PayloadFault.nul` for NUL in an identifier.
  public init(_ object: JSONElement, outerSignedDate: Int64) throws(PayloadFault) {
    var original: JSONElement?
    var signed: Int64?
    let fields = Field.all
    object.forEachMember(in: Field.names) { index, value in
      switch fields[index] {
      case .originalTransactionId: original = value
      case .signedDate: signed = value.date
      case let field: read(field, value)
      }
    }
    originalTransactionId = try original?.identifier()
    signedDate = signed ?? outerSignedDate
  }

  /// The members that are read, in Apple's spelling.
  private enum Field: String, CaseIterable {
    case originalTransactionId, signedDate, productId, autoRenewProductId, autoRenewStatus
    case renewalDate, expirationIntent, isInBillingRetryPeriod, gracePeriodExpiresDate
    case priceIncreaseStatus, commitmentInfo, appAccountToken, appTransactionId

    static let all = allCases
    static let names = JSONNames(all.map(\.rawValue))
  }

  private mutating func read(_ field: Field, _ value: JSONElement) {
    switch field {
    case .originalTransactionId, .signedDate: break
    case .productId: productId = value.string
    case .autoRenewProductId: autoRenewProductId = value.string
    case .autoRenewStatus: autoRenewStatus = value.integer
    case .renewalDate: renewalDate = value.date
    case .expirationIntent: expirationIntent = value.integer
    case .isInBillingRetryPeriod: isInBillingRetryPeriod = value.boolean
    case .gracePeriodExpiresDate: gracePeriodExpiresDate = value.date
    case .priceIncreaseStatus: priceIncreaseStatus = value.integer
    case .commitmentInfo:
      commitmentAutoRenewStatus = value["commitmentAutoRenewStatus"]?.integer
    case .appAccountToken: appAccountToken = value.filledText
    case .appTransactionId: appTransactionId = value.string
    }
  }
}

extension RenewalInfo {
  /// Whether both say the same, whenever they were signed. Compares bytes: `String` calls two
  /// encodings of one accented letter equal.
  public func saysTheSame(as other: RenewalInfo) -> Bool {
    numbers == other.numbers && isInBillingRetryPeriod == other.isInBillingRetryPeriod
      && texts.elementsEqual(other.texts) { one, other in
        guard let one, let other else { return one == nil && other == nil }
        return ByteSearch.areEqual(one, other)
      }
  }

  private var numbers: [Int64?] {
    [
      autoRenewStatus, renewalDate, expirationIntent, gracePeriodExpiresDate, priceIncreaseStatus,
      commitmentAutoRenewStatus,
    ]
  }

  private var texts: [String?] {
    [originalTransactionId, productId, autoRenewProductId, appAccountToken, appTransactionId]
  }
}
