import Platform

/// Apple's inAppOwnershipType.
enum Ownership: String {
  case purchased = "PURCHASED"
  case familyShared = "FAMILY_SHARED"
  /// A seat of a subscription that somebody else pays for.
  case assigned = "ASSIGNED"
}

/// One transaction of the App Store in the simulator. Dates are milliseconds since 1970.
struct Purchase: Equatable {
  /// Apple's transactionReason.
  enum Reason: String {
    case purchase = "PURCHASE"
    case renewal = "RENEWAL"
  }

  struct Revocation: Equatable {
    var date: Int64
    var type: String
    /// Milli-percent: 40000 is 40 %.
    var percentage: Int64?
    /// Apple's revocationReason: 1 for an issue of the app, else 0.
    var reason: Int64 = 0
  }

  var id: String
  var originalId: String
  /// The original id before a migration.
  var previousOriginalId: String?
  /// One for each billed period; nil if the product does not renew.
  var webOrderLineItemId: String?
  var product: Product
  var purchaseDate: Int64
  var originalPurchaseDate: Int64
  var expiresDate: Int64?
  var quantity: Int64 = 1
  /// Milliunits of the currency; nil for members.
  var price: Int64?
  var reason: Reason
  var offer: Offer?
  var revocation: Revocation?
  /// Of a team; the price is then the average for one.
  var seats: Seats?
}

/// What Apple will do at the end of the period. Dates are milliseconds since 1970.
struct Renewal {
  var product: Product
  /// Auto-renewal is on.
  var isOn = true
  var date: Int64
  /// Apple's expirationIntent.
  var intent: Int64?
  var isRetrying: Bool?
  var graceEnd: Int64?
  /// Consent to a price increase: 0 asked for, 1 given or not needed; nil without an increase.
  var consent: Int64?
  var offer: Offer?
  var winBackOffers: [String] = []
  /// The start of the subscription; a lapse of less than 60 days does not restart it.
  var start: Int64
}

/// Apple's externalPurchaseToken. Dates are milliseconds since 1970.
struct ExternalToken {
  /// Without the sandbox's prefix.
  let id: String
  /// Apple's tokenType: ACQUISITION for the first purchase, SERVICES for the use of its services.
  let type: String
  let created: Int64

  /// Apple does not document how long a token runs; a year is a guess.
  var expires: Int64 { created + 365 * CivilTime.day }
}
