public import AppStore
public import Entitlements
import JournalStore
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
  /// The `known_at` of the question, milliseconds since 1970; nil: all events that we have.
  public let knownAt: Int64?

  public init(
    key: StreamKey, entitlement: Entitlement, eventCount: Int64, lastEvent: StreamState.LastEvent?,
    succeededBy: String?, knownAt: Int64?
  ) {
    self.key = key
    self.entitlement = entitlement
    self.eventCount = eventCount
    self.lastEvent = lastEvent
    self.succeededBy = succeededBy
    self.knownAt = knownAt
  }

  /// The JSON object: members in the contract's order, times in milliseconds since 1970.
  public var json: JSONValue {
    let transaction = entitlement.transaction
    return .object([
      ("object", .string("entitlement")),
      ("environment", .string(key.environment.rawValue)),
      ("bundle_id", .string(key.bundleId)),
      ("original_transaction_id", .string(key.originalTransactionId)),
      ("transaction_id", .optional(transaction?.transactionId)),
      ("product_id", .optional(entitlement.productId)),
      ("product_type", .optional(transaction?.type)),
      ("ownership", .optional(transaction?.inAppOwnershipType)),
      ("status", .string(entitlement.status.rawValue)),
      ("gives_access", .boolean(entitlement.givesAccess)),
      ("starts_at", .optional(transaction?.purchaseDate)),
      ("expires_at", .optional(entitlement.expiresAt)),
      ("grace_period_expires_at", .optional(entitlement.gracePeriodExpiresAt)),
      ("revoked_at", .optional(entitlement.revokedAt)),
      ("auto_renew", .optional(entitlement.autoRenew)),
      ("pending_product_id", .optional(entitlement.pendingProductId)),
      ("gap", .boolean(entitlement.hasGap)),
      ("app_account_token", .optional(transaction?.appAccountToken)),
      ("app_transaction_id", .optional(transaction?.appTransactionId)),
      ("subscription_group_id", .optional(transaction?.subscriptionGroupIdentifier)),
      ("offer", offer), ("price", price), ("price_increase", .optional(priceIncrease)),
      ("commitment", commitment), ("succeeded_by", .optional(succeededBy)),
      ("as_of", .integer(entitlement.asOf)), ("known_at", .optional(knownAt)),
      ("event_count", .integer(eventCount)), ("last_event", last),
    ])
  }

  private var offer: JSONValue {
    guard let transaction = entitlement.transaction, let type = transaction.offerType else {
      return .null
    }
    return .object([
      ("type", .integer(type)), ("identifier", .optional(transaction.offerIdentifier)),
      ("discount_type", .optional(transaction.offerDiscountType)),
      ("period", .optional(transaction.offerPeriod)),
    ])
  }

  private var price: JSONValue {
    guard let transaction = entitlement.transaction, let price = transaction.price else {
      return .null
    }
    return .object([
      ("milliunits", .integer(price)), ("currency", .optional(transaction.currency)),
    ])
  }

  private var priceIncrease: String? {
    switch entitlement.renewal?.priceIncreaseStatus {
    case 0: "pending"
    case 1: "accepted"
    default: nil
    }
  }

  private var commitment: JSONValue {
    guard let commitment = entitlement.transaction?.commitment else { return .null }
    return .object([
      ("period", .integer(commitment.billingPeriodNumber)),
      ("periods", .integer(commitment.totalBillingPeriods)),
      ("ends_at", .optional(commitment.commitmentExpiresDate)),
      ("auto_renew", .optional(entitlement.renewal?.commitmentAutoRenewStatus.map { $0 == 1 })),
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
