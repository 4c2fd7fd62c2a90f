public import StrictJSON

/// What the developer tells Apple about a purchase for which the customer wants the money back: the
/// body of Send Consumption Information, version 2.
///
/// Without the customer's consent there is no such value: whoever makes one has it.
///
/// Source: developer.apple.com/documentation/appstoreserverapi/consumptionrequest,
/// consumptionpercentage, refundpreference and send-consumption-information.
public struct ConsumptionInformation: Sendable, Hashable {
  /// Apple's deliveryStatus: whether the customer got what was bought.
  public enum Delivery: String, Sendable, CaseIterable {
    case delivered = "DELIVERED"
    case qualityIssue = "UNDELIVERED_QUALITY_ISSUE"
    case wrongItem = "UNDELIVERED_WRONG_ITEM"
    case serverOutage = "UNDELIVERED_SERVER_OUTAGE"
    case other = "UNDELIVERED_OTHER"
  }

  /// Apple's refundPreference.
  public enum Preference: String, Sendable, CaseIterable {
    case decline = "DECLINE"
    case full = "GRANT_FULL"
    case prorated = "GRANT_PRORATED"
  }

  public var delivery: Delivery
  /// Whether there was a trial, a sample, or enough information before the purchase.
  public var sampleContentProvided: Bool
  /// How much was used, in thousandths of a percent; nil: not said.
  public var consumptionPercentage: Int64?
  /// Nil: none.
  public var preference: Preference?

  /// The percentage of what is used up.
  public static let wholePercentage: Int64 = 100_000

  public init(
    _ delivery: Delivery, sampleContentProvided: Bool, consumptionPercentage: Int64? = nil,
    preference: Preference? = nil
  ) {
    self.delivery = delivery
    self.sampleContentProvided = sampleContentProvided
    self.consumptionPercentage = consumptionPercentage
    self.preference = preference
  }

  /// The members in the order of Apple's own clients; what is not said is left out.
  public var json: JSONValue {
    let members: [(String, JSONValue?)] = [
      ("customerConsented", .boolean(true)),
      ("sampleContentProvided", .boolean(sampleContentProvided)),
      ("deliveryStatus", .string(delivery.rawValue)),
      ("consumptionPercentage", consumptionPercentage.map(JSONValue.integer)),
      ("refundPreference", preference.map { .string($0.rawValue) }),
    ]
    return .object(members.compactMap { name, value in value.map { (name, $0) } })
  }
}

extension ConsumptionInformation {
  /// Why Apple refuses information about a purchase. The raw value is for journals and answers.
  public enum Rule: String, Sendable, CaseIterable {
    /// A member of the family bought it (4000185).
    case familyShared = "family_shared"
    /// A seat that somebody else pays for (4000227).
    case assigned
    /// Bought by the Advanced Commerce API, for which version 1 of the call is.
    case advancedCommerce = "advanced_commerce"
    /// A percentage below 0 or above 100000.
    case percentageOutOfRange = "percentage_out_of_range"
    /// A percentage of an auto-renewable subscription (4000209), or of a product whose type is not
    /// known.
    case renewablePercentage = "percentage_of_renewable"
    /// Another percentage than 0 of what was not delivered.
    case undeliveredPercentage = "percentage_of_undelivered"
    /// A prorated refund of another product without a percentage between 0 and 100000. Apple's
    /// pages differ on whether it must be there.
    case proratedWithoutPercentage = "prorated_without_percentage"
  }

  /// The rule that refuses whatever is said about a purchase; nil if there is none.
  public static func exclusion(of transaction: Transaction) -> Rule? {
    if transaction.advancedCommerce != nil { return .advancedCommerce }
    return switch transaction.inAppOwnershipType {
    case "FAMILY_SHARED": .familyShared
    case "ASSIGNED": .assigned
    default: nil
    }
  }

  /// The first rule that refuses this about a purchase; nil if it may be sent.
  public func refusal(for transaction: Transaction) -> Rule? {
    if let rule = Self.exclusion(of: transaction) { return rule }
    let whole = Self.wholePercentage
    if let consumptionPercentage {
      guard (0...whole).contains(consumptionPercentage) else { return .percentageOutOfRange }
      guard transaction.mayBeConsumed else { return .renewablePercentage }
      guard consumptionPercentage == 0 || delivery == .delivered else {
        return .undeliveredPercentage
      }
    }
    guard preference == .prorated, transaction.type != ProductType.autoRenewable else { return nil }
    let isPart = consumptionPercentage.map { (1..<whole).contains($0) } ?? false
    return isPart ? nil : .proratedWithoutPercentage
  }

  /// The next best that may be sent about a purchase: without a percentage that is refused. A
  /// prorated refund of what was not used is a full one, and of what was used up none; where the
  /// percentage is not known, no preference is left.
  ///
  /// - Returns: what to send, nil if nothing may be sent; and the rules that refused more.
  public func allowed(
    for transaction: Transaction
  ) -> (information: ConsumptionInformation?, refusals: [Rule]) {
    var (next, refusals): (Self, [Rule]) = (self, [])
    while let rule = next.refusal(for: transaction) {
      refusals.append(rule)
      switch rule {
      case .familyShared, .assigned, .advancedCommerce: return (nil, refusals)
      case .percentageOutOfRange, .renewablePercentage, .undeliveredPercentage:
        next.consumptionPercentage = nil
      case .proratedWithoutPercentage:
        next.preference = next.consumptionPercentage.map { $0 == 0 ? .full : .decline }
      }
    }
    return (next, refusals)
  }
}

extension Transaction {
  /// Whether it can be said how much of it was used: it is of a known type that does not renew.
  var mayBeConsumed: Bool {
    type.map { ProductType.all.contains($0) && $0 != ProductType.autoRenewable } ?? false
  }
}
