import AppStore
import Entitlements
import Platform

/// Takes the values of a table's columns in their order: a `Checksum`, or a `ColumnBinder`.
protocol ColumnSink {
  mutating func add(_ value: Int64?)
  mutating func add(_ value: String?)
  mutating func add(_ value: NotificationUUID?)
}

extension Checksum: ColumnSink {
  mutating func add(_ value: NotificationUUID?) {
    guard let value else { return add(nil as Int64?) }
    withUnsafeBytes(of: (value.high.bigEndian, value.low.bigEndian)) { add($0) }
  }
}

/// Binds values to the parameters of a statement, from an index on.
struct ColumnBinder: ColumnSink {
  let statement: Statement
  var index: Int32

  mutating func add(_ value: Int64?) {
    statement.bind(index, value)
    index += 1
  }

  mutating func add(_ value: String?) {
    statement.bind(index, value)
    index += 1
  }

  mutating func add(_ value: NotificationUUID?) {
    statement.bind(index, value?.bytes)
    index += 1
  }
}

/// Checksums of what a row's columns and spans say. They are equal for equal rows, in every file
/// and for every order of arrival (promise 6): the last event's `seq`, which depends on it, is left
/// out, and products and offers are not taken by their ids.
///
/// The sum of each span is stored with the row, so that a read checks the whole row and reads only
/// the spans that it needs.
struct RowSums: Sendable, Equatable {
  struct Span: Sendable, Equatable {
    /// The column `from_ms`.
    let from: Int64
    let sum: UInt32

    init(from: Int64, _ sum: Checksum) {
      self.from = from
      self.sum = UInt32(truncatingIfNeeded: sum.value)
    }

    fileprivate init(from: Int64, stored sum: UInt32) {
      self.from = from
      self.sum = sum
    }
  }

  /// Of all columns and spans.
  let content: Int64
  /// Of each span, in ascending order of time.
  let spans: [Span]

  /// - Parameter columns: to which the columns of the table `entitlement` were added.
  init(_ columns: Checksum, _ spans: [Span]) {
    var columns = columns
    for span in spans {
      columns.add(span.from)
      columns.add(Int64(span.sum))
    }
    content = columns.value
    self.spans = spans
  }

  init(_ row: EntitlementRow) {
    var columns = Checksum()
    let ids = row.lastIds
    row.visitColumns(ids, &columns)
    let spans = row.spans.indices.map { index in
      var sum = Checksum()
      let purchase = row.spans[index].purchase
      row.visitSpan(
        index, ids, product: row.product(of: index).sum,
        offer: purchase.flatMap { row.purchases[$0].offer?.sum }, &sum)
      return Span(from: row.spans[index].from, sum)
    }
    self.init(columns, spans)
  }

  /// The checksum of a stored row: over everything that it was written from.
  ///
  /// - Parameters:
  ///   - seq: that of the last event.
  ///   - state: the packed state.
  func checksum(
    _ key: StreamKey, _ seq: Int64?, broken: String?, state: UnsafeRawBufferPointer
  ) -> Int64 {
    var checksum = Checksum()
    checksum.add(content)
    checksum.add(key.originalTransactionId)
    checksum.add(key.environment.rawValue)
    checksum.add(key.bundleId)
    checksum.add(seq)
    checksum.add(broken)
    checksum.add(state)
    return checksum.value
  }
}

// MARK: The column `spans`

extension RowSums {
  /// For each span the time since the one before, as a variable-length count, and its sum.
  var encodedSpans: [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(10 * spans.count)
    var last = Int64.min
    for span in spans {
      VarInt.append(UInt64(bitPattern: span.from &- last), to: &bytes)
      withUnsafeBytes(of: span.sum.littleEndian) { bytes += $0 }
      last = Self.base(span)
    }
    return bytes
  }

  /// - Throws: `LedgerError.corrupt` if these are not encoded spans.
  static func spans(decoding bytes: [UInt8]) throws(LedgerError) -> [Span] {
    var rest = bytes[...]
    var spans: [Span] = []
    var last = Int64.min
    while !rest.isEmpty {
      guard let distance = VarInt.readNumber(&rest), rest.count >= 4 else {
        throw .corrupt("the column spans of a row")
      }
      let sum = rest.prefix(4).reversed().reduce(0) { $0 << 8 | UInt32($1) }
      rest.removeFirst(4)
      let span = Span(from: last &+ Int64(bitPattern: distance), stored: sum)
      spans.append(span)
      last = base(span)
    }
    return spans
  }

  /// The first span has no beginning: the second is counted from 1970.
  private static func base(_ span: Span) -> Int64 { max(span.from, 0) }
}

// MARK: Columns

extension EntitlementRow {
  /// The ids of the last span's purchase, which the table `entitlement` has.
  struct LastIds {
    var token: String?
    var appTransaction: String?
  }

  var lastIds: LastIds {
    guard let index = spans.last?.purchase else { return LastIds() }
    return LastIds(
      token: purchases[index].appAccountToken, appTransaction: purchases[index].appTransactionId)
  }

  /// The columns of the table `entitlement` that do not depend on the order of arrival.
  func visitColumns(_ ids: LastIds, _ sink: inout some ColumnSink) {
    sink.add(lasting?.productId)
    sink.add(lasting?.from)
    sink.add(eventCount)
    sink.add(lastEvent?.uuid)
    sink.add(lastEvent?.notificationType)
    sink.add(lastEvent?.subtype)
    sink.add(lastEvent?.signedDate)
    sink.add(autoRenew.map { $0 ? 1 : 0 })
    sink.add(renewalProductId)
    sink.add(gracePeriodExpiresAt)
    sink.add(priceIncrease?.rawValue)
    sink.add(commitmentAutoRenew.map { $0 ? 1 : 0 })
    sink.add(revokedAt)
    sink.add(ids.token)
    sink.add(ids.appTransaction)
    sink.add(hasAnomaly ? 1 : 0)
    sink.add(renewedProductId)
  }

  /// The column `expiry`: what says when a span expires.
  enum Expiry: Int64 {
    /// The column `expires_at_ms`.
    case stored
    /// The next span: it expires at the same time.
    case ofNext
    /// The span itself, which begins when what it shows has expired.
    case start
  }

  /// Whether time alone changes the answer as a span begins: its status, access or product differ
  /// from those of the span before.
  func isTurn(_ index: Int) -> Bool {
    guard index > 0 else { return false }
    let (one, other) = (spans[index - 1], spans[index])
    return one.status != other.status || one.givesAccess != other.givesAccess
      || !ByteSearch.areEqual(one.productId, other.productId)
  }

  /// The columns of the table `entitlement_span` but its row: all of the span's transaction. What
  /// follows from later spans is left out, so that a renewal seldom changes the spans before it.
  ///
  /// - Parameters:
  ///   - product: what the column `product` says.
  ///   - offer: what the column `offer` says.
  func visitSpan(
    _ index: Int, _ ids: LastIds, product: Int64, offer: Int64?, _ sink: inout some ColumnSink
  ) {
    let next = index + 1 < spans.count ? spans[index + 1].expiresAt : nil
    let expires = spans[index].expiresAt
    let expiry: EntitlementRow.Expiry =
      expires == nil
      ? .stored : expires == next ? .ofNext : expires == spans[index].from ? .start : .stored
    sink.add(spans[index].from)
    sink.add(StoredStatus.id(of: spans[index].status, givesAccess: spans[index].givesAccess))
    sink.add(product)
    sink.add(expiry.rawValue)
    sink.add(expiry == .stored ? expires : nil)
    sink.add(spans[index].hasGap ? 1 : 0)
    if let purchase = spans[index].purchase {
      purchases[purchase].visit(ids, offer, spanFrom: spans[index].from, &sink)
    } else {
      for _ in 0..<10 { sink.add(nil as Int64?) }
    }
    sink.add(isTurn(index) ? 1 : 0)
  }

  /// What the column `product` of a span stands for.
  func product(of span: Int) -> SharedValues.Product {
    let productId = spans[span].productId
    guard let index = spans[span].purchase else {
      return SharedValues.Product(productId: productId)
    }
    return SharedValues.Product(
      productId: productId, type: purchases[index].productType,
      subscriptionGroupId: purchases[index].subscriptionGroupId,
      ownership: purchases[index].ownership)
  }
}

extension Purchase {
  fileprivate func visit(
    _ ids: EntitlementRow.LastIds, _ offer: Int64?, spanFrom from: Int64,
    _ sink: inout some ColumnSink
  ) {
    sink.add(id: transactionId)
    sink.add(startsAt == from ? nil : startsAt)
    sink.add(price?.milliunits)
    sink.add(price?.currency)
    sink.add(offer)
    Self.visit(appAccountToken, ids.token, &sink)
    Self.visit(appTransactionId, ids.appTransaction, &sink)
    sink.add(commitment?.billingPeriodNumber)
    sink.add(commitment?.totalBillingPeriods)
    sink.add(commitment?.commitmentExpiresDate)
  }

  /// An id: null is that of the entitlement, 0 is none.
  private static func visit(_ id: String?, _ last: String?, _ sink: inout some ColumnSink) {
    if ByteSearch.areEqual(id, last) {
      sink.add(nil as Int64?)
    } else if let id {
      sink.add(id)
    } else {
      sink.add(0)
    }
  }
}

extension SharedValues.Product {
  /// Adds the texts, so that equal products have equal sums in every file.
  var sum: Int64 {
    var sum = Checksum()
    for text in [productId, type, subscriptionGroupId, ownership] { sum.add(text) }
    return sum.value
  }
}

extension Purchase.Offer {
  var sum: Int64 {
    var sum = Checksum()
    sum.add(type)
    for text in [identifier, discountType, period] { sum.add(text) }
    return sum.value
  }
}

/// A status as a row stores it.
struct StoredStatus {
  /// The id in the table `status`.
  let id: Int64
  let status: Entitlement.Status
  let givesAccess: Bool

  /// Whether a status gives access is the rule of the fold that wrote it.
  static let all: [StoredStatus] = Entitlement.Status.allCases.flatMap { status in
    [true, false].map {
      StoredStatus(id: id(of: status, givesAccess: $0), status: status, givesAccess: $0)
    }
  }

  static func id(of status: Entitlement.Status, givesAccess: Bool) -> Int64 {
    switch (status, givesAccess) {
    case (.active, true): 0
    case (.gracePeriod, true): 1
    case (.billingRetry, false): 2
    case (.expired, false): 3
    case (.revoked, false): 4
    case (.active, false): 5
    case (.gracePeriod, false): 6
    case (.billingRetry, true): 7
    case (.expired, true): 8
    case (.revoked, true): 9
    }
  }

  static func with(id: Int64) -> StoredStatus? { all.first { $0.id == id } }
}
