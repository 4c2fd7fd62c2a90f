public import AppStore
public import Entitlements
import Store
public import StrictJSON

/// One row with its entitlement at a time: the `entitlement` object of the public contract.
public struct RowDocument: Sendable {
  public let key: StreamKey
  public let entitlement: Entitlement
  /// Events of the stream that were folded.
  public let eventCount: Int64
  /// The event with the greatest signed date and UUID.
  public let lastEvent: StreamState.LastEvent?
  /// The original transaction id of the stream that replaced this one (MIGRATION).
  public let succeededBy: String?
  /// When Apple last said the same without a notification, milliseconds since 1970; nil: never, as
  /// far as is known. No part of the row proper.
  public let confirmedAt: Int64?
  /// The owner's accounts that have the purchase, in the order in which they claimed it. No part of
  /// the row proper.
  public let accounts: [String]
  /// How many there are, of which `accounts` has the first.
  public let accountCount: Int
  /// The end of the current billing period, milliseconds since 1970; nil: it does not end. The
  /// outer nil: not determined, and the row then does not have the member.
  let periodEndsAt: Int64??
  /// The `known_at` of the question, milliseconds since 1970; nil: all events that we have.
  let knownAt: Int64?

  /// How many accounts a row names.
  static let maximumAccounts = 20

  public init(
    key: StreamKey, entitlement: Entitlement, eventCount: Int64, lastEvent: StreamState.LastEvent?,
    succeededBy: String?, confirmedAt: Int64? = nil,
    accounts: (names: [String], count: Int) = ([], 0), periodEndsAt: Int64?? = nil, knownAt: Int64?
  ) {
    self.key = key
    self.entitlement = entitlement
    self.eventCount = eventCount
    self.lastEvent = lastEvent
    self.succeededBy = succeededBy
    self.confirmedAt = confirmedAt
    (self.accounts, accountCount) = accounts
    self.periodEndsAt = periodEndsAt
    self.knownAt = knownAt
  }

  /// The JSON object: members in the contract's order, times in milliseconds since 1970.
  public var json: JSONValue {
    let purchase = entitlement.purchase
    var members: [(String, JSONValue)] = [
      ("object", .string("entitlement")),
      ("environment", .string(key.environment.rawValue)),
      ("bundle_id", .string(key.bundleId)),
      ("original_transaction_id", .string(key.originalTransactionId)),
      ("transaction_id", .optional(purchase?.transactionId)),
      ("product_id", .optional(entitlement.productId)),
      ("product_type", .optional(purchase?.productType)),
      ("ownership", .optional(purchase?.ownership)),
      ("status", .string(entitlement.status.rawValue)),
      ("gives_access", .boolean(entitlement.givesAccess)),
      ("starts_at", .optional(purchase?.startsAt)),
      ("expires_at", .optional(entitlement.expiresAt)),
      ("grace_period_expires_at", .optional(entitlement.gracePeriodExpiresAt)),
      ("revoked_at", .optional(entitlement.revokedAt)),
      ("auto_renew", .optional(entitlement.autoRenew)),
      ("pending_product_id", .optional(entitlement.pendingProductId)),
      ("gap", .boolean(entitlement.hasGap)),
      ("app_account_token", .optional(purchase?.appAccountToken)),
      ("app_transaction_id", .optional(purchase?.appTransactionId)),
      ("subscription_group_id", .optional(purchase?.subscriptionGroupId)),
      ("offer", offer), ("price", price), ("price_increase", .optional(priceIncrease)),
      ("commitment", commitment), ("succeeded_by", .optional(succeededBy)),
      ("as_of", .integer(entitlement.asOf)), ("known_at", .optional(knownAt)),
      ("event_count", .integer(eventCount)), ("last_event", last),
    ]
    if let periodEndsAt { members.append(("period_ends_at", .optional(periodEndsAt))) }
    if let confirmedAt { members.append(("confirmed_at", .integer(confirmedAt))) }
    if accountCount > 0 {
      members += [
        ("accounts", .array(accounts.map(JSONValue.string))),
        ("account_count", .integer(Int64(accountCount))),
      ]
    }
    if accountCount > 1 { members.append(("shared_by_accounts", .boolean(true))) }
    if entitlement.hasAnomaly { members.append(("anomaly", .boolean(true))) }
    return .object(members)
  }

  private var offer: JSONValue {
    guard let offer = entitlement.purchase?.offer else { return .null }
    return .object([
      ("type", .integer(offer.type)), ("identifier", .optional(offer.identifier)),
      ("discount_type", .optional(offer.discountType)), ("period", .optional(offer.period)),
    ])
  }

  private var price: JSONValue {
    guard let price = entitlement.purchase?.price else { return .null }
    return .object([
      ("milliunits", .integer(price.milliunits)), ("currency", .optional(price.currency)),
    ])
  }

  private var priceIncrease: String? {
    switch entitlement.priceIncrease {
    case .pending: "pending"
    case .accepted: "accepted"
    case nil: nil
    }
  }

  private var commitment: JSONValue {
    guard let commitment = entitlement.purchase?.commitment else { return .null }
    return .object([
      ("period", .integer(commitment.billingPeriodNumber)),
      ("periods", .integer(commitment.totalBillingPeriods)),
      ("ends_at", .optional(commitment.commitmentExpiresDate)),
      ("auto_renew", .optional(entitlement.commitmentAutoRenew)),
    ])
  }

  private var last: JSONValue {
    guard let lastEvent else { return .null }
    return .object([
      ("seq", .integer(lastEvent.seq)),
      ("notification_uuid", .string(lastEvent.uuid.description)),
      ("notification_type", .string(lastEvent.notificationType)),
      ("subtype", .optional(lastEvent.subtype)),
      ("signed_date", .integer(lastEvent.signedDate)),
    ])
  }
}
