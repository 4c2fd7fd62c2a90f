import AppStore
import Entitlements
import Platform

/// Reads rows of a projection from their columns, and checks each against its checksum. Used by one
/// connection.
struct RowReading {
  let connection: SQLiteConnection
  let layout: Layout
  let values: SharedValues

  init(_ connection: SQLiteConnection, _ layout: Layout = .own) {
    self.connection = connection
    self.layout = layout
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

  /// The columns of the table `entitlement` in a schema.
  struct Layout {
    /// Those that `stored` reads, of a table `e`.
    let columns: String
    /// Those of `columns` that are in the checksum, in its order.
    let content: [Int32]
    /// Whether this program reads the column `state`.
    let hasState: Bool

    /// That of `ProjectionFile.schema`; `content` is what `EntitlementRow.visitColumns` adds.
    static let own = Layout(
      columns: columns("e.renewed_product_id, e.spans"), content: Array(11..<28), hasState: true)

    /// That of `ProjectionFile.comparedSchema`.
    static let compared = Layout(
      columns: columns("NULL, e.spans, e.previous_original_transaction_id"),
      content: [11, 29] + Array(12..<27), hasState: false)

    private static func columns(_ last: String) -> String {
      """
      e.id, e.app_id, e.original_transaction_id, e.checksum, e.last_seq, e.broken, e.state,
      e.answer_status, e.answer_product, e.answer_from_ms, e.answer_until_ms, e.lasting_product_id,
      e.lasting_from_ms, e.event_count, e.last_uuid, e.last_type, e.last_subtype,
      e.last_signed_date_ms, e.auto_renew, e.renewal_product_id, e.grace_period_expires_at_ms,
      e.price_increase, e.commitment_auto_renew, e.revoked_at_ms, e.app_account_token,
      e.app_transaction_id, e.anomaly, \(last)
      """
    }
  }

  /// The row that a statement stands at.
  ///
  /// - Throws: `LedgerError.corrupt` when the row does not have its checksum, otherwise what SQLite
  ///   reports.
  func stored(
    _ row: Statement, _ spans: WantedSpans = .all, withState: Bool = false
  ) throws(LedgerError) -> Stored {
    let (id, app) = (row.int(0), row.int(1))
    let key = StreamKey(try values.app(app), row.text(2))
    var found = Self.columns(row)
    var columns = Checksum()
    for column in layout.content { row.add(column, to: &columns) }
    let sums = RowSums(columns, try RowSums.spans(decoding: row.bytes(28)))
    let broken = row.optionalText(5)
    let checksum = row.withBytes(6) {
      sums.checksum(key, row.optionalInt(4), broken: broken, state: $0)
    }
    guard checksum == row.int(3) else { throw .corrupt("the checksum of a row") }
    let ids = EntitlementRow.LastIds(
      token: row.optionalText(24), appTransaction: row.optionalText(25))
    try readSpans(of: id, spans, sums.spans, ids, into: &found)
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
      found.lasting = EntitlementRow.Lasting(productId: product, from: row.int(12))
    }
    found.eventCount = row.int(13)
    if let uuid = NotificationUUID(bytes: row.bytes(14)) {
      found.lastEvent = StreamState.LastEvent(
        seq: row.int(4), uuid: uuid, notificationType: row.text(15), subtype: row.optionalText(16),
        signedDate: row.int(17))
    }
    found.autoRenew = row.optionalInt(18).map { $0 == 1 }
    found.renewalProductId = row.optionalText(19)
    found.gracePeriodExpiresAt = row.optionalInt(20)
    found.priceIncrease = row.optionalInt(21).flatMap(EntitlementRow.PriceIncrease.init)
    found.commitmentAutoRenew = row.optionalInt(22).map { $0 == 1 }
    found.revokedAt = row.optionalInt(23)
    found.hasAnomaly = row.int(26) == 1
    found.renewedProductId = row.optionalText(27)
    return found
  }

  // MARK: Spans

  /// Reads spans of a row, each against its sum: also those after the last that is wanted, until
  /// one that says when it expires.
  private func readSpans(
    of id: Int64, _ wanted: WantedSpans, _ sums: [RowSums.Span], _ ids: EntitlementRow.LastIds,
    into row: inout EntitlementRow
  ) throws(LedgerError) {
    var range = sums.indices
    var isAll = false
    switch wanted {
    case .all: isAll = true
    case .none: return
    case .at(let time):
      let end = sums.partitionPoint { $0.from <= time }
      range = max(0, end - 1)..<end
    case .since(let time): range = max(0, sums.partitionPoint { $0.from <= time } - 1)..<sums.count
    }
    guard let start = range.first else { return }
    var found: [(span: EntitlementRow.Span, purchase: Purchase?)] = []
    var index = start
    try connection.statement(
      """
      SELECT from_ms, status, product, expiry, expires_at_ms, gap, transaction_id, starts_at_ms,
        price_milliunits, currency, offer, app_account_token, app_transaction_id,
        commitment_period, commitment_periods, commitment_ends_at_ms, is_turn
      FROM entitlement_span WHERE entitlement_id = ? AND from_ms >= ? ORDER BY from_ms
      """
    ).bind(1, id).bind(2, sums[start].from).forEach { (span) throws(LedgerError) in
      let product = try values.product(span.int(2))
      let offer = try span.optionalInt(10).map { (id) throws(LedgerError) in try values.offer(id) }
      guard index < sums.count, Self.sum(span, product.sum, offer?.sum) == sums[index] else {
        throw .corrupt("a span of a row")
      }
      if index < range.upperBound {
        found.append(
          (
            try Self.span(span, product.value),
            Self.purchase(span, product.value, offer?.value, ids)
          ))
      }
      index += 1
      let expiry = EntitlementRow.Expiry(rawValue: span.int(3))
      guard expiry != .ofNext else { return true }
      // It says when it expires, and those before it that expire with it.
      let expires = expiry == .start ? span.int(0) : span.optionalInt(4)
      for (span, purchase) in found { row.append(span, purchase, expires: expires) }
      found.removeAll(keepingCapacity: true)
      return isAll || index < range.upperBound
    }
    guard index >= range.upperBound, found.isEmpty else { throw .corrupt("a span is missing") }
  }

  private static func sum(_ span: Statement, _ product: Int64, _ offer: Int64?) -> RowSums.Span {
    var sum = Checksum()
    span.add(0, to: &sum)
    span.add(1, to: &sum)
    sum.add(product)
    for column in Int32(3)..<10 { span.add(column, to: &sum) }
    sum.add(offer)
    for column in Int32(11)..<17 { span.add(column, to: &sum) }
    return RowSums.Span(from: span.int(0), sum)
  }

  private static func span(
    _ span: Statement, _ product: SharedValues.Product
  ) throws(LedgerError) -> EntitlementRow.Span {
    guard let stored = StoredStatus.with(id: span.int(1)) else {
      throw .corrupt("the status of a span")
    }
    return EntitlementRow.Span(
      from: span.int(0), status: stored.status, givesAccess: stored.givesAccess, purchase: nil,
      productId: product.productId, expiresAt: nil, hasGap: span.int(5) == 1)
  }

  /// The transaction of a span; nil if it has none.
  private static func purchase(
    _ span: Statement, _ product: SharedValues.Product, _ offer: Purchase.Offer?,
    _ ids: EntitlementRow.LastIds
  ) -> Purchase? {
    guard let id = span.optionalText(6) else { return nil }
    var purchase = Purchase(
      transactionId: id, productType: product.type, ownership: product.ownership,
      subscriptionGroupId: product.subscriptionGroupId,
      startsAt: span.optionalInt(7) ?? span.int(0))
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
  fileprivate mutating func append(_ span: Span, _ purchase: Purchase?, expires: Int64?) {
    var span = span
    span.expiresAt = expires
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
