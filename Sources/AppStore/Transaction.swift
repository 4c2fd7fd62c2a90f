import Platform
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

  /// Reads a proven payload. Returns nil if it has no transactionId or no purchaseDate, because the
  /// fold cannot use it then.
  ///
  /// - Parameter outerSignedDate: used if there is no signedDate.
  /// - Throws: `PayloadFault.nul` for NUL in an identifier.
  public init?(_ object: JSONElement, outerSignedDate: Int64) throws(PayloadFault) {
    var (identifier, original): (JSONElement?, JSONElement?)
    var (purchased, signed): (Int64?, Int64?)
    let fields = Field.all
    object.forEachMember(in: Field.names) { index, value in
      switch fields[index] {
      case .transactionId: identifier = value
      case .originalTransactionId: original = value
      case .purchaseDate: purchased = value.date
      case .signedDate: signed = value.date
      case let field: read(field, value)
      }
    }
    originalTransactionId = try original?.identifier()
    guard let identifier = try identifier?.identifier(), let purchased else { return nil }
    transactionId = identifier
    purchaseDate = purchased
    signedDate = signed ?? outerSignedDate
  }

  /// The members that are read, in Apple's spelling.
  private enum Field: String, CaseIterable {
    case transactionId, originalTransactionId, purchaseDate, signedDate
    case previousOriginalTransactionId, webOrderLineItemId, appTransactionId, appAccountToken
    case productId, subscriptionGroupIdentifier, type, inAppOwnershipType, transactionReason
    case expiresDate, isUpgraded, billingPlanType, commitmentInfo
    case quantity, price, currency, storefront
    case offerType, offerIdentifier, offerDiscountType, offerPeriod
    case revocationDate, revocationReason, revocationType, revocationPercentage

    static let all = allCases
    static let names = JSONNames(all.map(\.rawValue))
  }

  private mutating func read(_ field: Field, _ value: JSONElement) {
    switch field {
    case .previousOriginalTransactionId: previousOriginalTransactionId = value.string
    case .webOrderLineItemId: webOrderLineItemId = value.string
    case .appTransactionId: appTransactionId = value.string
    case .appAccountToken: appAccountToken = value.filledText
    case .productId: productId = value.string
    case .subscriptionGroupIdentifier: subscriptionGroupIdentifier = value.string
    case .type: type = value.string
    case .inAppOwnershipType: inAppOwnershipType = value.string
    case .transactionReason: transactionReason = value.string
    // A value that is not a date must not count as "never expires" (promise 8).
    case .expiresDate: expiresDate = value.kind == .null ? nil : value.date ?? .min
    case .isUpgraded: isUpgraded = value.boolean ?? false
    case .billingPlanType: billingPlanType = value.string
    case .commitmentInfo: commitment = Self.commitment(value)
    default: readMoney(field, value)
    }
  }

  private mutating func readMoney(_ field: Field, _ value: JSONElement) {
    switch field {
    case .quantity: quantity = value.integer
    case .price: price = value.integer
    case .currency: currency = value.string
    case .storefront: storefront = value.string
    case .offerType: offerType = value.integer
    case .offerIdentifier: offerIdentifier = value.string
    case .offerDiscountType: offerDiscountType = value.string
    case .offerPeriod: offerPeriod = value.string
    case .revocationDate: revocationDate = value.date
    case .revocationReason: revocationReason = value.integer
    case .revocationType: revocationType = value.string
    case .revocationPercentage: revocationPercentage = value.integer
    default: break
    }
  }

  private static func commitment(_ object: JSONElement) -> Commitment? {
    guard let period = object["billingPeriodNumber"]?.integer,
      let periods = object["totalBillingPeriods"]?.integer
    else { return nil }
    return Commitment(
      billingPeriodNumber: period, totalBillingPeriods: periods,
      commitmentExpiresDate: object["commitmentExpiresDate"]?.date)
  }
}

extension Transaction {
  /// Whether both say the same, whenever they were signed. Compares bytes: `String` calls two
  /// encodings of one accented letter equal.
  public func saysTheSame(as other: Transaction) -> Bool {
    numbers == other.numbers && isUpgraded == other.isUpgraded && commitment == other.commitment
      && texts.elementsEqual(other.texts) { one, other in
        guard let one, let other else { return one == nil && other == nil }
        return ByteSearch.areEqual(one, other)
      }
  }

  private var numbers: [Int64?] {
    [
      purchaseDate, expiresDate, quantity, price, offerType, revocationDate, revocationReason,
      revocationPercentage,
    ]
  }

  private var texts: [String?] {
    [
      transactionId, originalTransactionId, previousOriginalTransactionId, webOrderLineItemId,
      appTransactionId, appAccountToken, productId, subscriptionGroupIdentifier, type,
      inAppOwnershipType, transactionReason, currency, storefront, offerIdentifier,
      offerDiscountType, offerPeriod, revocationType, billingPlanType,
    ]
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
