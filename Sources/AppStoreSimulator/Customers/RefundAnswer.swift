import StrictJSON

/// What Send Consumption Information told of a purchase (ConsumptionRequest, version 2).
struct RefundAnswer: Sendable {
  /// Why Apple refuses what it is told.
  enum Refusal: Error, Equatable {
    case numbered(APIError)
    /// By the name of Apple's error: no document says its number.
    case named(String)
  }

  /// Apple's refundPreference.
  private enum Preference: String {
    case decline = "DECLINE"
    case full = "GRANT_FULL"
    case prorated = "GRANT_PRORATED"
  }

  /// All of the money, or of what was bought, in thousandths of a percent.
  static let whole: Int64 = 100_000

  private static let deliveries = [
    "DELIVERED", "UNDELIVERED_QUALITY_ISSUE", "UNDELIVERED_WRONG_ITEM",
    "UNDELIVERED_SERVER_OUTAGE", "UNDELIVERED_OTHER",
  ]

  /// Milliseconds since 1970, by the simulated clock.
  let received: Int64
  /// What was told, as it was told.
  private let body: JSONValue
  private let isDelivered: Bool
  private let hadSample: Bool
  /// The used part, in thousandths of a percent.
  private let used: Int64?
  private let preference: Preference?

  /// - Parameters:
  ///   - transaction: JWSTransactionDecodedPayload of the purchase.
  ///   - moment: milliseconds since 1970.
  /// - Throws: `Refusal` for the first member that Apple refuses.
  init(
    _ body: JSONElement, about transaction: JSONValue, at moment: Int64
  ) throws(Refusal) {
    try Self.check(transaction)
    guard body["customerConsented"]?.boolean == true else { throw .numbered(.invalidConsent) }
    guard let delivery = body["deliveryStatus"]?.string, Self.deliveries.contains(delivery) else {
      throw .numbered(.invalidDelivery)
    }
    guard let hadSample = body["sampleContentProvided"]?.boolean else {
      throw .numbered(.invalidSample)
    }
    let isRenewing = transaction.text("type") == Product.Kind.autoRenewable.rawValue
    isDelivered = delivery == "DELIVERED"
    self.hadSample = hadSample
    used = try Self.used(body, isRenewing, isDelivered)
    preference = try Self.preference(body, isRenewing, used)
    (received, self.body) = (moment, body.value)
  }

  /// - Throws: `Refusal` for a purchase that the call does not take.
  private static func check(_ transaction: JSONValue) throws(Refusal) {
    switch transaction.text("inAppOwnershipType") {
    case Ownership.familyShared.rawValue: throw .numbered(.familyNotSupported)
    case Ownership.assigned.rawValue: throw .numbered(.assignedNotSupported)
    default: break
    }
    // No simulated purchase has one: those that move to the Advanced Commerce API have no more
    // than another id.
    if transaction["advancedCommerceInfo"] != nil {
      throw .named("AdvancedCommerceTransactionNotSupportedError")
    }
  }

  /// A member that is null counts as absent.
  private static func optional(_ body: JSONElement, _ name: String) -> JSONElement? {
    body[name].flatMap { $0.kind == .null ? nil : $0 }
  }

  private static func used(
    _ body: JSONElement, _ isRenewing: Bool, _ isDelivered: Bool
  ) throws(Refusal) -> Int64? {
    guard let member = optional(body, "consumptionPercentage") else { return nil }
    if isRenewing { throw .numbered(.percentageOfSubscription) }
    guard let value = member.integer, 0...Self.whole ~= value else {
      throw .named("ConsumptionPercentageOutOfRangeError")
    }
    if value != 0 && !isDelivered { throw .named("UndeliveredConsumptionPercentageNonZeroError") }
    return value
  }

  /// For a part of the money Apple needs to know the part that was used, or takes it from the
  /// period. Its pages differ on whether that percentage may be absent: here it may not.
  private static func preference(
    _ body: JSONElement, _ isRenewing: Bool, _ used: Int64?
  ) throws(Refusal) -> Preference? {
    guard let member = optional(body, "refundPreference") else { return nil }
    guard let preference = member.string.flatMap(Preference.init(rawValue:)) else {
      throw .numbered(.invalidPreference)
    }
    let hasPart = isRenewing || 1..<Self.whole ~= used ?? 0
    if preference == .prorated && !hasPart { throw .numbered(.invalidPreference) }
    return preference
  }

  /// How much of the money is given back, in thousandths of a percent; nil if the refund is
  /// declined. Apple does not say how it decides; this rule is in the help of `simulate serve`.
  ///
  /// - Parameter left: of the period of an auto-renewable subscription; nil for other products.
  func decision(left: Int64?) -> Int64? {
    guard isDelivered else { return Self.whole }
    switch preference {
    case .full: return Self.whole
    case .decline: return nil
    case .prorated: return left ?? Self.whole - (used ?? 0)
    case nil:
      guard let used else { return hadSample ? nil : Self.whole }
      return used == Self.whole ? nil : Self.whole - used
    }
  }

  /// - Parameter counts: whether the App Store decides by it.
  func json(counts: Bool) -> JSONValue {
    .object([("receivedDate", .integer(received)), ("counts", .boolean(counts)), ("body", body)])
  }
}
