import AppStore
import Entitlements
import Platform

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
    /// A checksum to which the columns that do not depend on the order of arrival were added.
    let columns: Checksum
    /// The packed state; empty unless it was asked for.
    let state: [UInt8]
    let answer: Answer?
    let lineCount, requestCount: Int64
  }

  /// The columns `answer_…`: status and product from a time until another.
  struct Answer: Equatable {
    var status: String
    var product: String?
    var from: Int64
    var until: Int64?

    /// Compares bytes.
    static func == (left: Self, right: Self) -> Bool {
      (left.status, left.from, left.until) == (right.status, right.from, right.until)
        && ByteSearch.areEqual(left.product, right.product)
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
    let broken = row.optionalText(5)
    var columns = Checksum()
    for column in RowLayout.content { row.add(column, to: &columns) }
    let checksum = row.withBytes(6) {
      RowSums.checksum(columns, key, row.optionalInt(4), broken: broken, state: $0)
    }
    guard checksum == row.int(3) else { throw .corrupt("the checksum of a row") }
    try readSpans(of: id, spans, row.int(26) > 0, key.originalTransactionId, into: &found)
    let answer = row.optionalText(7).map {
      Answer(status: $0, product: row.optionalText(8), from: row.int(9), until: row.optionalInt(10))
    }
    return Stored(
      id: id, app: app, projected: ProjectedRow(key: key, row: found, broken: broken),
      columns: columns, state: withState ? row.bytes(6) : [], answer: answer,
      lineCount: row.int(RowLayout.lineCount), requestCount: row.int(RowLayout.requestCount))
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
    found.renewedProductId = row.optionalText(20)
    found.gracePeriodExpiresAt = row.optionalInt(21)
    found.priceIncrease = row.optionalInt(22).flatMap(EntitlementRow.PriceIncrease.init)
    found.commitmentAutoRenew = row.optionalInt(23).map { $0 == 1 }
    found.revokedAt = row.optionalInt(24)
    found.hasAnomaly = row.int(25) == 1
    var terms = ColumnReader(statement: row, column: RowLayout.firstTerm)
    found.renewalTerms.visit(&terms)
    return found
  }

  // MARK: Spans

  /// When each span of a row begins, and its checksum, which is not checked.
  func spanSums(of id: Int64) throws(LedgerError) -> [RowSums.Span] {
    try connection.statement(
      "SELECT from_ms, checksum FROM entitlement_span WHERE entitlement_id = ? ORDER BY from_ms"
    ).bind(1, id).all { RowSums.Span(from: $0.int(0), sum: $0.int(1)) }
  }

  /// Reads spans of a row, and checks each, and that each begins when the one before it ends: also
  /// those after the last that is wanted, until one that says when it expires.
  ///
  /// - Parameters:
  ///   - isThere: whether the row has any.
  ///   - key: its original transaction id.
  private func readSpans(
    of id: Int64, _ wanted: WantedSpans, _ isThere: Bool, _ key: String,
    into row: inout EntitlementRow
  ) throws(LedgerError) {
    let (time, isAll): (Int64, Bool)
    switch wanted {
    case .none: return
    case .all: (time, isAll) = (.min, true)
    case .since(let start): (time, isAll) = (start, true)
    case .at(let moment): (time, isAll) = (moment, false)
    }
    guard isThere else { return }
    var found: [(span: EntitlementRow.Span, purchase: Purchase?)] = []
    var (end, number) = (Int64?.none, Int64(0))
    try connection.statement(RowLayout.spans).bind(1, id).bind(2, time)
      .forEach { (span) throws(LedgerError) in
        let (from, to) = (span.int(1), span.optionalInt(2))
        guard span.int(0) == Self.sum(span, key),
          number > 0 ? from == end : from <= time && (to.map({ time < $0 }) ?? true)
        else { throw .corrupt("a span of a row") }
        (end, number) = (to, number + 1)
        if isAll || number == 1 {
          found.append((try Self.span(span), Self.purchase(span)))
        }
        let expiry = EntitlementRow.Expiry(rawValue: span.int(6))
        guard expiry != .ofNext else { return true }
        // It says when it expires, and those before it that expire with it.
        let expires = expiry == .start ? from : span.optionalInt(7)
        for (span, purchase) in found { row.append(span, purchase, expires: expires) }
        found.removeAll(keepingCapacity: true)
        return isAll
      }
    guard number > 0, found.isEmpty, !isAll || end == nil else {
      throw .corrupt("a span is missing")
    }
  }

  private static func sum(_ span: Statement, _ key: String) -> Int64 {
    var sum = Checksum()
    sum.add(key)
    for column in 1..<RowLayout.spanColumns { span.add(column, to: &sum) }
    return sum.value
  }

  private static func span(_ span: Statement) throws(LedgerError) -> EntitlementRow.Span {
    guard let status = Entitlement.Status(rawValue: span.text(3)) else {
      throw .corrupt("the status of a span")
    }
    return EntitlementRow.Span(
      from: span.int(1), status: status, givesAccess: span.int(4) == 1, purchase: nil,
      productId: span.optionalText(5), expiresAt: nil, hasGap: span.int(8) == 1,
      seats: span.optionalInt(10))
  }

  /// The transaction of a span; nil if it has none.
  private static func purchase(_ span: Statement) -> Purchase? {
    var columns = ColumnReader(statement: span, column: RowLayout.firstPurchaseColumn)
    guard !span.isNull(columns.column) else { return nil }
    var purchase = Purchase(
      transactionId: "", productType: nil, ownership: nil, subscriptionGroupId: nil, startsAt: 0)
    purchase.visit(&columns)
    return purchase
  }
}

/// Fills a purchase, or the terms of a renewal, from the columns of a statement, from one on.
private struct ColumnReader: PurchaseVisitor {
  let statement: Statement
  var column: Int32

  mutating func text(_ name: String, _ value: inout String?) {
    value = statement.optionalText(column)
    column += 1
  }

  mutating func integer(_ name: String, _ value: inout Int64?) {
    value = statement.optionalInt(column)
    column += 1
  }

  mutating func texts(_ name: String, _ value: inout [String]) {
    value = statement.optionalText(column).map(Statement.texts) ?? []
    column += 1
  }
}

extension EntitlementRow {
  /// Adds a span, and its purchase unless a span before has it: one transaction is one purchase.
  fileprivate mutating func append(_ span: Span, _ purchase: Purchase?, expires: Int64?) {
    var span = span
    span.expiresAt = expires
    if let purchase {
      let id = purchase.transactionId
      span.purchase =
        purchases.lastIndex { ByteSearch.areEqual($0.transactionId, id) } ?? purchases.count
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
