/// One transaction of the App Store as the simulator keeps it.
struct Purchase: Equatable {
  enum Reason: String {
    case purchase = "PURCHASE"
    case renewal = "RENEWAL"
  }

  struct Revocation: Equatable {
    var date: Int64
    var type: String
    /// Milli-percent: 40000 is 40 %.
    var percentage: Int64?
  }

  var id: String
  var originalId: String
  /// One per billed period; only of what renews.
  var webOrderLineItemId: String?
  var product: Product
  var purchaseDate: Int64
  var originalPurchaseDate: Int64
  var expiresDate: Int64?
  var quantity: Int64 = 1
  /// Milliunits; family members' purchases have none.
  var price: Int64?
  var reason: Reason
  var offer: Offer?
  var revocation: Revocation?
}

/// What Apple would do at the end of the period.
struct Renewal {
  var product: Product
  var isOn = true
  var date: Int64
  var intent: Int64?
  var isRetrying: Bool?
  var graceEnd: Int64?
  /// 0 asked for, 1 given or not needed; nil without an increase.
  var consent: Int64?
  var offer: Offer?
  var winBackOffers: [String] = []
  /// Start of the subscription, lapses below 60 days not counted.
  var start: Int64
}
