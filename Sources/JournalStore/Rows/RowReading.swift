import AppStore
import Encoding
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
    let sums: RowSums
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

  /// Which spans of a row are made. All are read, for the checksum.
  enum Spans {
    case all
    case none
    /// That which answers at a time, milliseconds since 1970.
    case at(Int64)
  }

  /// The columns that `stored` reads, of a table `e`.
  static let columns = """
    e.id, e.app_id, e.original_transaction_id, e.checksum, e.last_seq, e.broken, e.state,
    e.answer_status, e.answer_product, e.answer_from_ms, e.answer_until_ms, e.lasting_product_id,
    e.previous_original_transaction_id, e.lasting_from_ms, e.event_count, e.last_uuid, e.last_type,
    e.last_subtype, e.last_signed_date_ms, e.auto_renew, e.renewal_product_id,
    e.grace_period_expires_at_ms, e.price_increase, e.commitment_auto_renew, e.revoked_at_ms,
    e.app_account_token, e.app_transaction_id
    """

  /// Those of `columns` that `EntitlementRow.visitColumns` adds.
  private static let content: Range<Int32> = 11..<27

  /// The row that a statement stands at.
  ///
  /// - Throws: `StoreError.corrupt` when the row does not have its checksum, otherwise what SQLite
  ///   reports.
  func stored(
    _ row: Statement, _ spans: Spans = .all, withState: Bool = false
  ) throws(StoreError) -> Stored {
    let (id, app) = (row.int(0), row.int(1))
    let key = StreamKey(try values.app(app), row.text(2))
    var found = Self.columns(row)
    var columns = Checksum()
    for column in Self.content { row.add(column, to: &columns) }
    let ids = EntitlementRow.LastIds(
      token: row.optionalText(25), appTransaction: row.optionalText(26))
    let sums = RowSums(columns, try readSpans(of: id, spans, ids, into: &found))
    let broken = row.optionalText(5)
    let checksum = row.withBytes(6) {
      sums.checksum(key, row.optionalInt(4), broken: broken, state: $0)
    }
    guard checksum == row.int(3) else { throw .corrupt("the checksum of a row") }
    let answer = row.optionalInt(7).map {
      Answer(status: $0, product: row.int(8), from: row.int(9), until: row.optionalInt(10))
    }
    return Stored(
      id: id, app: app, projected: ProjectedRow(key: key, row: found, broken: broken), sums: sums,
      state: withState ? row.bytes(6) : [], answer: answer)
  }

  private static func columns(_ row: Statement) -> EntitlementRow {
    var found = EntitlementRow()
    if let product = row.optionalText(11) {
      found.lasting = EntitlementRow.Lasting(productId: product, from: row.int(13))
    }
    found.previousOriginalTransactionId = row.optionalText(12)
    found.eventCount = row.int(14)
    if let uuid = NotificationUUID(bytes: row.bytes(15)) {
      found.lastEvent = StreamState.LastEvent(
        seq: row.int(4), uuid: uuid, notificationType: row.text(16), subtype: row.optionalText(17),
        signedDate: row.int(18))
    }
    found.autoRenew = row.optionalInt(19).map { $0 == 1 }
    found.renewalProductId = row.optionalText(20)
    found.gracePeriodExpiresAt = row.optionalInt(21)
    found.priceIncrease = row.optionalInt(22).flatMap(EntitlementRow.PriceIncrease.init)
    found.commitmentAutoRenew = row.optionalInt(23).map { $0 == 1 }
    found.revokedAt = row.optionalInt(24)
    return found
  }

  // MARK: Spans

  /// Reads the spans of a row, the last first: each expires by those after it.
  ///
  /// - Returns: the sums of all spans, in ascending order.
  private func readSpans(
    of id: Int64, _ wanted: Spans, _ ids: EntitlementRow.LastIds, into row: inout EntitlementRow
  ) throws(StoreError) -> [RowSums.Span] {
    var sums: [RowSums.Span] = []
    var found: [(span: EntitlementRow.Span, purchase: Purchase?)] = []
    var expires: Int64?
    try connection.statement(
      """
      SELECT from_ms, status, product, continues, expires_at_ms, gap, transaction_id, starts_at_ms,
        price_milliunits, currency, offer, app_account_token, app_transaction_id,
        commitment_period, commitment_periods, commitment_ends_at_ms
      FROM entitlement_span WHERE entitlement_id = ? ORDER BY from_ms DESC
      """
    ).bind(1, id).forEach { (span) throws(StoreError) in
      let product = try values.product(span.int(2))
      let offer = try span.optionalInt(10).map { (id) throws(StoreError) in try values.offer(id) }
      sums.append(Self.sum(span, product.sum, offer?.sum))
      if span.int(3) == 0 { expires = span.optionalInt(4) }
      switch wanted {
      case .none: return true
      case .at(let time) where !found.isEmpty || span.int(0) > time: return true
      default: break
      }
      let answer = try Self.span(span, product.value, expires: expires)
      found.append((answer, Self.purchase(span, product.value, offer?.value, ids)))
      return true
    }
    for (span, purchase) in found.reversed() { row.append(span, purchase) }
    return sums.reversed()
  }

  private static func sum(_ span: Statement, _ product: Int64, _ offer: Int64?) -> RowSums.Span {
    var sum = Checksum()
    span.add(0, to: &sum)
    span.add(1, to: &sum)
    sum.add(product)
    for column in Int32(3)..<10 { span.add(column, to: &sum) }
    sum.add(offer)
    for column in Int32(11)..<16 { span.add(column, to: &sum) }
    return RowSums.Span(from: span.int(0), sum: sum.value)
  }

  private static func span(
    _ span: Statement, _ product: SharedValues.Product, expires: Int64?
  ) throws(StoreError) -> EntitlementRow.Span {
    guard let status = Entitlement.Status(id: span.int(1)) else {
      throw .corrupt("the status of a span")
    }
    return EntitlementRow.Span(
      from: span.int(0), status: status, purchase: nil, productId: product.productId,
      expiresAt: expires, hasGap: span.int(5) == 1)
  }

  /// The transaction of a span; nil if it has none.
  private static func purchase(
    _ span: Statement, _ product: SharedValues.Product, _ offer: Purchase.Offer?,
    _ ids: EntitlementRow.LastIds
  ) -> Purchase? {
    guard let id = span.optionalText(6) else { return nil }
    var purchase = Purchase(
      transactionId: id, productType: product.type, ownership: product.ownership,
      subscriptionGroupId: product.subscriptionGroupId, startsAt: span.int(7))
    purchase.price = span.optionalInt(8).map {
      Purchase.Price(milliunits: $0, currency: span.optionalText(9))
    }
    purchase.offer = offer
    purchase.appAccountToken = span.isNull(11) ? ids.token : span.isText(11) ? span.text(11) : nil
    purchase.appTransactionId =
      span.isNull(12) ? ids.appTransaction : span.isText(12) ? span.text(12) : nil
    if let period = span.optionalInt(13) {
      purchase.commitment = Transaction.Commitment(
        billingPeriodNumber: period, totalBillingPeriods: span.int(14),
        commitmentExpiresDate: span.optionalInt(15))
    }
    return purchase
  }
}

extension EntitlementRow {
  /// Adds a span, and its purchase unless a span before has the same.
  fileprivate mutating func append(_ span: Span, _ purchase: Purchase?) {
    var span = span
    if let purchase {
      span.purchase = purchases.lastIndex { $0.isSame(as: purchase) } ?? purchases.count
      if span.purchase == purchases.count { purchases.append(purchase) }
    }
    spans.append(span)
  }
}

extension StreamKey {
  init(_ app: AppKey, _ originalTransactionId: String) {
    self.init(
      environment: app.environment, bundleId: app.bundleId,
      originalTransactionId: originalTransactionId)
  }
}
