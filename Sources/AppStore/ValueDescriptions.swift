/// Short descriptions of the values of one of Apple's members.
///
/// Sources: developer.apple.com/documentation/appstoreserverapi/offertype, offerdiscounttype,
/// inappownershiptype, billingplantype, consumptionrequestreason and revocationtype. They are for
/// people to read; no decision depends on them. A value that is not listed is normal, and is shown
/// as Apple wrote it.
public struct ValueDescriptions: Sendable {
  public static let offerType = ValueDescriptions([
    ("1", "introductory"), ("2", "promotional"), ("3", "offer code"), ("4", "win-back"),
  ])

  /// Apple's expirationIntent; `expiration_reason` has these words.
  public static let expirationIntent = ValueDescriptions([
    ("1", "cancelled"), ("2", "billing"), ("3", "price_increase"), ("4", "not_for_sale"),
    ("5", "other"),
  ])

  public static let offerDiscountType = ValueDescriptions([
    ("FREE_TRIAL", "nothing to pay"), ("PAY_AS_YOU_GO", "a lower price in each period"),
    ("PAY_UP_FRONT", "one payment for all periods of the offer"),
    ("ONE_TIME", "a lower price of a one-time purchase"),
  ])

  /// Apple's inAppOwnershipType.
  public static let ownership = ValueDescriptions([
    ("PURCHASED", "bought by the customer"), ("FAMILY_SHARED", "shared by a family member"),
    ("ASSIGNED", "a seat that was assigned to the customer"),
  ])

  public static let billingPlanType = ValueDescriptions([
    ("BILLED_UPFRONT", "charged for all of it at its begin"), ("MONTHLY", "charged each month"),
  ])

  /// Apple's consumptionRequestReason.
  public static let requestReason = ValueDescriptions([
    ("UNINTENDED_PURCHASE", "did not mean to buy it"),
    ("FULFILLMENT_ISSUE", "did not get it, or cannot use it"),
    ("UNSATISFIED_WITH_PURCHASE", "is not satisfied with it"), ("LEGAL", "a legal reason"),
    ("OTHER", "another reason"),
  ])

  public static let revocationType = ValueDescriptions([
    ("REFUND_FULL", "refunded in full"), ("REFUND_PRORATED", "refunded in part"),
    ("FAMILY_REVOKE", "family sharing ended"), ("ASSIGNMENT_REVOKE", "assigned seat withdrawn"),
  ])

  /// In Apple's order.
  private let entries: [(value: String, description: String)]

  private init(_ entries: [(value: String, description: String)]) { self.entries = entries }

  /// The description of a value; nil for an unknown one.
  public subscript(value: String) -> String? {
    entries.first { $0.value == value }?.description
  }

  /// The value as Apple wrote it, followed by its description if it has one: `4 (win-back)`.
  public func text(_ value: String) -> String {
    self[value].map { "\(value) (\($0))" } ?? value
  }

  /// All values.
  public var values: [String] { entries.map(\.value) }

  /// All values with their descriptions, for documentation.
  public var list: String { entries.map { text($0.value) }.joined(separator: ", ") }
}
