import AppStore
import Clients
import Entitlements
import Queries
import Store

/// Text as PostgreSQL takes it: none may have a zero byte
/// (postgresql.org/docs/15/datatype-character.html).
enum PostgresText {
  static func of(_ text: String) -> String {
    guard text.utf8.contains(0) else { return text }
    return String(text.unicodeScalars.map { $0 == "\0" ? "\u{FFFD}" : Character($0) })
  }

  static func value(_ text: String?) -> PostgresValue { .text(text.map { of($0) }) }
}

/// Rows of the mirror's tables, in the order of their columns, without the generation.
struct MirrorBatch {
  var entitlements: [[PostgresValue]] = []
  var spans: [[PostgresValue]] = []
  var accounts: [[PostgresValue]] = []
  var events: [[PostgresValue]] = []

  // MARK: Columns

  static let entitlementColumns = """
    environment, bundle_id, original_transaction_id, grace_period_expires_at_ms, revoked_at_ms,
    auto_renew, price_increase, commitment_auto_renew, anomaly, succeeded_by, event_count,
    last_event_seq, last_notification_uuid, last_notification_type, last_subtype,
    last_signed_date_ms
    """
  static let spanColumns = """
    environment, bundle_id, original_transaction_id, from_ms, status, gives_access,
    transaction_id, product_id, product_type, ownership, starts_at_ms, expires_at_ms,
    pending_product_id, gap, app_account_token, app_transaction_id, subscription_group_id,
    offer_type, offer_identifier, offer_discount_type, offer_period, price_milliunits, currency,
    commitment_period, commitment_periods, commitment_ends_at_ms
    """
  static let accountColumns = "account, environment, bundle_id, original_transaction_id"
  static let eventColumns = """
    seq, notification_uuid, source, environment, bundle_id, notification_type, subtype,
    original_transaction_id, signed_date_ms, received_at_ms
    """

  // MARK: Rows

  mutating func add(_ mirrored: MirroredRow, durations: [String: Int64]) {
    let row = mirrored.row
    // Without an answer at any time there is no entitlement: GET says 404.
    let answers = row.answers(durations: durations)
    guard !answers.isEmpty else { return }
    let key = Self.key(mirrored.key)
    entitlements.append(
      key + [
        .integer(row.gracePeriodExpiresAt), .integer(row.revokedAt),
        row.autoRenew.map { .boolean($0) } ?? .null, Self.priceIncrease(row.priceIncrease),
        row.commitmentAutoRenew.map { .boolean($0) } ?? .null, .boolean(row.hasAnomaly),
        PostgresText.value(mirrored.succeededBy), .integer(row.eventCount),
        .integer(row.lastEvent?.seq), row.lastEvent.map { .uuid($0.uuid.bytes) } ?? .null,
        PostgresText.value(row.lastEvent?.notificationType),
        PostgresText.value(row.lastEvent?.subtype), .integer(row.lastEvent?.signedDate),
      ])
    for answer in answers { spans.append(key + Self.span(answer)) }
    for account in mirrored.accounts { accounts.append([PostgresText.value(account)] + key) }
  }

  mutating func add(_ event: EventKeys) {
    events.append([
      .integer(event.seq), .uuid(event.uuid.bytes), .text(event.source.rawValue),
      .text(event.environment?.rawValue), PostgresText.value(event.bundleId),
      PostgresText.value(event.notificationType), PostgresText.value(event.subtype),
      PostgresText.value(event.originalTransactionId), .integer(event.signedDate),
      .integer(event.receivedAt),
    ])
  }

  private static func key(_ key: StreamKey) -> [PostgresValue] {
    [
      .text(key.environment.rawValue), PostgresText.value(key.bundleId),
      PostgresText.value(key.originalTransactionId),
    ]
  }

  private static func span(_ answer: Entitlement) -> [PostgresValue] {
    let purchase = answer.purchase
    return [
      .integer(answer.asOf), .text(answer.status.rawValue), .boolean(answer.givesAccess),
      PostgresText.value(purchase?.transactionId), PostgresText.value(answer.productId),
      PostgresText.value(purchase?.productType), PostgresText.value(purchase?.ownership),
      .integer(purchase?.startsAt), .integer(answer.expiresAt),
      PostgresText.value(answer.pendingProductId), .boolean(answer.hasGap),
      PostgresText.value(purchase?.appAccountToken),
      PostgresText.value(purchase?.appTransactionId),
      PostgresText.value(purchase?.subscriptionGroupId),
    ] + offer(purchase?.offer) + [
      .integer(purchase?.price?.milliunits), PostgresText.value(purchase?.price?.currency),
      .integer(purchase?.commitment?.billingPeriodNumber),
      .integer(purchase?.commitment?.totalBillingPeriods),
      .integer(purchase?.commitment?.commitmentExpiresDate),
    ]
  }

  private static func offer(_ offer: Purchase.Offer?) -> [PostgresValue] {
    [
      .integer(offer?.type), PostgresText.value(offer?.identifier),
      PostgresText.value(offer?.discountType), PostgresText.value(offer?.period),
    ]
  }

  private static func priceIncrease(_ answer: EntitlementRow.PriceIncrease?) -> PostgresValue {
    switch answer {
    case .pending: .text("pending")
    case .accepted: .text("accepted")
    case nil: .null
    }
  }
}
