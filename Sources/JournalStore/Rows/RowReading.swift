import AppStore
import Entitlements

/// Reads rows of a projection from their columns, and checks each against its checksum. Used by one
/// connection.
struct RowReading {
  let connection: SQLiteConnection
  let values: SharedValues

  init(_ connection: SQLiteConnection) {
    self.connection = connection
    values = SharedValues(connection)
  }

  /// A row as it is stored.
  struct Stored {
    let id: Int64
    let app: Int64
    let projected: ProjectedRow
    /// The packed state; empty unless it was asked for.
    let state: [UInt8]
    let answer: Answer?
  }

  /// The columns `answer_…`: status and product from a time until another.
  struct Answer: Equatable {
    var status: Int64
    var product: Int64
    var from: Int64
    var until: Int64?
  }

  /// The columns that `stored` reads, of a table `e`.
  static let columns = """
    e.id, e.app_id, e.original_transaction_id, e.checksum, e.event_count, e.last_seq, e.last_uuid,
    e.last_type, e.last_subtype, e.last_signed_date_ms, e.auto_renew, e.renewal_product_id,
    e.grace_period_expires_at_ms, e.price_increase, e.commitment_auto_renew, e.revoked_at_ms,
    e.lasting_product_id, e.lasting_from_ms, e.app_account_token, e.app_transaction_id,
    e.previous_original_transaction_id, e.broken, e.state, e.answer_status, e.answer_product,
    e.answer_from_ms, e.answer_until_ms
    """

  /// The row that a statement stands at.
  ///
  /// - Throws: `StoreError.corrupt` when the row does not have its checksum, otherwise what SQLite
  ///   reports.
  func stored(_ row: Statement, withState: Bool = false) throws(StoreError) -> Stored {
    let (id, app) = (row.int(0), row.int(1))
    let key = StreamKey(try values.app(app), row.text(2))
    var found = Self.columns(row)
    try readSpans(of: id, row.optionalText(18), row.optionalText(19), into: &found)
    let projected = ProjectedRow(key: key, row: found, broken: row.optionalText(21))
    let content = found.encoded()
    let checksum = row.withBytes(22) { projected.checksum(content, state: $0) }
    guard checksum == row.int(3) else { throw .corrupt("the checksum of a row") }
    let answer = row.optionalInt(23).map {
      Answer(status: $0, product: row.int(24), from: row.int(25), until: row.optionalInt(26))
    }
    return Stored(
      id: id, app: app, projected: projected, state: withState ? row.bytes(22) : [],
      answer: answer)
  }

  private static func columns(_ row: Statement) -> EntitlementRow {
    var found = EntitlementRow()
    found.eventCount = row.int(4)
    if let uuid = NotificationUUID(bytes: row.bytes(6)) {
      found.lastEvent = StreamState.LastEvent(
        seq: row.int(5), uuid: uuid, notificationType: row.text(7), subtype: row.optionalText(8),
        signedDate: row.int(9))
    }
    found.autoRenew = row.optionalInt(10).map { $0 == 1 }
    found.renewalProductId = row.optionalText(11)
    found.gracePeriodExpiresAt = row.optionalInt(12)
    found.priceIncrease = row.optionalInt(13).flatMap(EntitlementRow.PriceIncrease.init)
    found.commitmentAutoRenew = row.optionalInt(14).map { $0 == 1 }
    found.revokedAt = row.optionalInt(15)
    if let product = row.optionalText(16) {
      found.lasting = EntitlementRow.Lasting(productId: product, from: row.int(17))
    }
    found.previousOriginalTransactionId = row.optionalText(20)
    return found
  }

  private func readSpans(
    of id: Int64, _ token: String?, _ appTransaction: String?, into row: inout EntitlementRow
  ) throws(StoreError) {
    var (spans, purchases): ([EntitlementRow.Span], [Purchase]) = ([], [])
    var continuing: [Int] = []
    try connection.statement(
      """
      SELECT from_ms, status, product, transaction_id, starts_at_ms, continues, expires_at_ms, gap,
        price_milliunits, currency, offer, app_account_token, app_transaction_id,
        commitment_period, commitment_periods, commitment_ends_at_ms
      FROM entitlement_span WHERE entitlement_id = ? ORDER BY from_ms
      """
    ).bind(1, id).forEach { (span) throws(StoreError) in
      let product = try values.product(span.int(2))
      guard let status = Entitlement.Status(id: span.int(1)) else {
        throw .corrupt("the status of a span")
      }
      var index: Int?
      if let purchase = try purchase(span, product, token, appTransaction) {
        index = purchases.lastIndex { $0.isSame(as: purchase) } ?? purchases.count
        if index == purchases.count { purchases.append(purchase) }
      }
      if span.int(5) == 1 { continuing.append(spans.count) }
      spans.append(
        EntitlementRow.Span(
          from: span.int(0), status: status, purchase: index, productId: product.productId,
          expiresAt: span.optionalInt(6), hasGap: span.int(7) == 1))
      return true
    }
    for index in continuing.reversed() where index + 1 < spans.count {
      spans[index].expiresAt = spans[index + 1].expiresAt
    }
    (row.spans, row.purchases) = (spans, purchases)
  }

  /// The transaction of a span; nil if it has none.
  private func purchase(
    _ span: Statement, _ product: SharedValues.Product, _ token: String?, _ appTransaction: String?
  ) throws(StoreError) -> Purchase? {
    guard let id = span.optionalText(3) else { return nil }
    var purchase = Purchase(
      transactionId: id, productType: product.type, ownership: product.ownership,
      subscriptionGroupId: product.subscriptionGroupId, startsAt: span.int(4))
    purchase.appAccountToken = span.isNull(11) ? token : span.isText(11) ? span.text(11) : nil
    purchase.appTransactionId =
      span.isNull(12) ? appTransaction : span.isText(12) ? span.text(12) : nil
    if let offer = span.optionalInt(10) { purchase.offer = try values.offer(offer) }
    purchase.price = span.optionalInt(8).map {
      Purchase.Price(milliunits: $0, currency: span.optionalText(9))
    }
    if let period = span.optionalInt(13) {
      purchase.commitment = Transaction.Commitment(
        billingPeriodNumber: period, totalBillingPeriods: span.int(14),
        commitmentExpiresDate: span.optionalInt(15))
    }
    return purchase
  }
}

extension StreamKey {
  init(_ app: AppKey, _ originalTransactionId: String) {
    self.init(
      environment: app.environment, bundleId: app.bundleId,
      originalTransactionId: originalTransactionId)
  }
}
