import AppStore
import Entitlements
import Platform

/// Takes the values of a table's columns in their order: a `Checksum`, or a `ColumnBinder`.
protocol ColumnSink: PurchaseVisitor {
  mutating func add(_ value: Int64?)
  mutating func add(_ value: String?)
  mutating func add(_ value: NotificationUUID?)
}

extension ColumnSink {
  mutating func text(_ column: String, _ value: inout String?) { add(value) }
  mutating func integer(_ column: String, _ value: inout Int64?) { add(value) }
  mutating func texts(_ column: String, _ value: inout [String]) {
    add(value.isEmpty ? .none : FieldValue.texts(value))
  }
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

/// The names of the columns that a purchase, and the terms of a renewal, are stored in.
struct PurchaseColumns: PurchaseVisitor {
  private(set) var types: [(name: String, type: String)] = []

  static let all: [(name: String, type: String)] = {
    var columns = PurchaseColumns()
    var none = Purchase(
      transactionId: "", productType: nil, ownership: nil, subscriptionGroupId: nil, startsAt: 0)
    none.visit(&columns)
    return columns.types
  }()

  static let terms: [(name: String, type: String)] = {
    var (columns, none) = (PurchaseColumns(), RenewalTerms())
    none.visit(&columns)
    return columns.types
  }()

  mutating func text(_ column: String, _ value: inout String?) { types.append((column, "TEXT")) }
  mutating func texts(_ column: String, _ value: inout [String]) { types.append((column, "TEXT")) }
  mutating func integer(_ column: String, _ value: inout Int64?) {
    types.append((column, "INTEGER"))
  }
}

/// Checksums of what a row's columns and spans say. They are equal for equal rows, in every file
/// and for every order of arrival (promise 6): the last event's `seq`, which depends on it, is left
/// out.
///
/// Each span is stored with its own, so that a read needs not read all spans to check the ones that
/// it wants.
struct RowSums: Sendable, Equatable {
  struct Span: Sendable, Equatable {
    /// The column `from_ms`.
    let from: Int64
    /// The column `checksum`.
    let sum: Int64
  }

  /// Of the columns of the table `entitlement` that do not depend on the order of arrival.
  let columns: Checksum
  /// Of each span, in ascending order of time.
  let spans: [Span]
  /// Of each line, in any order.
  let lines: [LineSum]

  init(_ columns: Checksum, _ spans: [Span], _ lines: [LineSum]) {
    self.columns = columns
    self.spans = spans
    self.lines = lines
  }

  init(
    _ row: EntitlementRow, _ lines: [TransactionLine], requests: Int = 0, _ key: StreamKey
  ) {
    var columns = Checksum()
    row.visitColumns(&columns)
    columns.add(Int64(lines.count))
    columns.add(Int64(requests))
    self.columns = columns
    self.lines = lines.map { LineSum($0) }
    spans = row.spans.indices.map { index in
      var sum = Checksum()
      sum.add(key.originalTransactionId)
      row.visitSpan(index, &sum)
      return Span(from: row.spans[index].from, sum: sum.value)
    }
  }

  /// Of all columns, spans and lines. Of requests for refunds only the number: the rest depends on
  /// when they were received.
  var content: Int64 {
    var content = columns
    for span in spans { content.add(span.sum) }
    content.add(lines.reduce(0) { $0 &+ $1.content })
    return content.value
  }

  /// The checksum of a stored row: over everything that it was written from but its spans and
  /// lines.
  ///
  /// - Parameters:
  ///   - columns: `RowSums.columns`.
  ///   - seq: that of the last event.
  ///   - state: the packed state.
  static func checksum(
    _ columns: Checksum, _ key: StreamKey, _ seq: Int64?, broken: String?,
    state: UnsafeRawBufferPointer
  ) -> Int64 {
    var checksum = columns
    checksum.add(key.originalTransactionId)
    checksum.add(key.environment.rawValue)
    checksum.add(key.bundleId)
    checksum.add(seq)
    checksum.add(broken)
    checksum.add(state)
    return checksum.value
  }
}

// MARK: Columns

extension EntitlementRow {
  /// The columns of the table `entitlement` that do not depend on the order of arrival.
  func visitColumns(_ sink: inout some ColumnSink) {
    sink.add(lasting?.productId)
    sink.add(lasting?.from)
    sink.add(eventCount)
    sink.add(lastEvent?.uuid)
    sink.add(lastEvent?.notificationType)
    sink.add(lastEvent?.subtype)
    sink.add(lastEvent?.signedDate)
    sink.add(autoRenew.map { $0 ? 1 : 0 })
    sink.add(renewalProductId)
    sink.add(renewedProductId)
    sink.add(gracePeriodExpiresAt)
    sink.add(priceIncrease?.rawValue)
    sink.add(commitmentAutoRenew.map { $0 ? 1 : 0 })
    sink.add(revokedAt)
    sink.add(hasAnomaly ? 1 : 0)
    sink.add(Int64(spans.count))
    var terms = renewalTerms
    terms.visit(&sink)
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

  /// The columns of the table `entitlement_span` but its row and its checksum. When it expires is
  /// left to the next span where that says the same, so that a renewal seldom changes the spans
  /// before it.
  func visitSpan(_ index: Int, _ sink: inout some ColumnSink) {
    let next = index + 1 < spans.count ? spans[index + 1] : nil
    let (span, expires) = (spans[index], spans[index].expiresAt)
    let expiry: Expiry =
      expires == nil
      ? .stored : expires == next?.expiresAt ? .ofNext : expires == span.from ? .start : .stored
    sink.add(span.from)
    sink.add(next?.from)
    sink.add(span.status.rawValue)
    sink.add(span.givesAccess ? 1 : 0)
    sink.add(span.productId)
    sink.add(expiry.rawValue)
    sink.add(expiry == .stored ? expires : nil)
    sink.add(span.hasGap ? 1 : 0)
    sink.add(isTurn(index) ? 1 : 0)
    sink.add(span.seats)
    guard let purchase = span.purchase else {
      for _ in PurchaseColumns.all { sink.add(nil as Int64?) }
      return
    }
    var shown = purchases[purchase]
    shown.visit(&sink)
  }
}
