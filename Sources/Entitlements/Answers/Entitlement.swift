import AppStore

/// What a customer may use at a given time: an answer of an `EntitlementRow`.
///
/// A pure function of the registers and the time, so that silence never grants access (promise 8).
/// All ends are exclusive: there is access while `time < end`. Times are milliseconds since 1970.
public struct Entitlement: Sendable, Equatable {
  /// The contract's `status`.
  public enum Status: String, Sendable, CaseIterable {
    case active
    case gracePeriod = "grace_period"
    case billingRetry = "billing_retry"
    case expired
    case revoked
  }

  /// The time that the answer is about.
  public let asOf: Int64
  public let status: Status
  /// A consumable is delivered and not kept: its row says what was bought and whether it was
  /// revoked, and never gives access.
  public let givesAccess: Bool
  /// Of the transaction whose period covers the time, else of the newest one; nil if only a renewal
  /// is known.
  public let purchase: Purchase?
  public let productId: String?
  /// Until when the customer has paid; nil if the product does not expire.
  public let expiresAt: Int64?
  public let gracePeriodExpiresAt: Int64?
  public let revokedAt: Int64?
  public let autoRenew: Bool?
  public let pendingProductId: String?
  /// At least one paid period was never delivered: Apple reports a later renewal date than the
  /// transactions do.
  public let hasGap: Bool
  public let priceIncrease: EntitlementRow.PriceIncrease?
  /// Whether a commitment to monthly payments is renewed at its end.
  public let commitmentAutoRenew: Bool?
  public let renewalTerms: RenewalTerms
  /// Those of the period that covers the time, or of the last one; nil if it has none.
  public let seats: Int64?

  /// A transaction of the customer has a date, a price or a quantity that no purchase has.
  public internal(set) var hasAnomaly: Bool
}
