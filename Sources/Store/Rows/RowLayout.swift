public import Entitlements

/// The tables of rows and spans in a schema: what `RowReading` selects, in its order.
struct RowLayout {
  /// The columns of a row, of a table `e`.
  let columns: String
  /// Selects the spans of the row ?1 from the one that answers at the time ?2 on.
  let spans: String
  /// Whether rows have the checksums of this program, and a state that it reads.
  let isChecked: Bool

  /// The columns that `EntitlementRow.visitColumns` adds, and the number of lines.
  static let content: Range<Int32> = 11..<28
  /// Of the checksum, and of the transaction.
  static let (spanColumns, firstPurchaseColumn) = (
    Int32(spanNames.count), Int32(answerNames.count)
  )

  private static let answerNames = [
    "checksum", "from_ms", "to_ms", "status", "gives_access", "product_id", "expiry",
    "expires_at_ms", "gap", "is_turn",
  ]
  /// Of the table `entitlement_span`, in the order of `EntitlementRow.visitSpan`.
  static let spanNames = answerNames + PurchaseColumns.all.map(\.name)

  /// The definitions of the columns of a purchase, for the table `entitlement_span`.
  static let purchaseColumns = PurchaseColumns.all.map { "\($0.name) \($0.type)," }
    .joined(separator: "\n  ")

  /// That of `ProjectionFile.schema`.
  static let own = RowLayout(
    columns: columns(
      "e.answer_product_id", "e.renewed_product_id", "e.span_count, e.line_count"),
    spans: spans(
      spanNames.map { "s.\($0)" }.joined(separator: ", "), "FROM entitlement_span s"),
    isChecked: true)

  /// That of `ProjectionFile.comparedSchema`, where products and offers are in tables of their own.
  static let compared = RowLayout(
    columns: columns(
      "NULL", "NULL",
      "(SELECT count(*) FROM entitlement_span s WHERE s.entitlement_id = e.id), 0"),
    spans: spans(
      spanNames.map { comparedColumns[$0] ?? "NULL" }.joined(separator: ", "),
      """
      FROM entitlement_span s JOIN product p ON p.id = s.product
        JOIN row_status t ON t.id = s.status JOIN entitlement e ON e.id = s.entitlement_id
        LEFT JOIN offer o ON o.id = s.offer
      """),
    isChecked: false)

  fileprivate static let comparedColumns = [
    "from_ms": "s.from_ms",
    "to_ms": """
    (SELECT min(n.from_ms) FROM entitlement_span n
      WHERE n.entitlement_id = s.entitlement_id AND n.from_ms > s.from_ms)
    """,
    "status": "t.name", "gives_access": "t.gives_access", "product_id": "p.product_id",
    "expiry": "s.expiry", "expires_at_ms": "s.expires_at_ms", "gap": "s.gap",
    "is_turn": "s.is_turn", "transaction_id": "CAST(s.transaction_id AS TEXT)",
    "product_type": "p.product_type", "ownership": "p.ownership",
    "starts_at_ms": "coalesce(s.starts_at_ms, s.from_ms)",
    "app_account_token": ofLast("app_account_token"),
    "app_transaction_id": ofLast("app_transaction_id"),
    "subscription_group_id": "p.subscription_group_id", "offer_type": "o.type",
    "offer_identifier": "o.identifier", "offer_discount_type": "o.discount_type",
    "offer_period": "o.period", "price_milliunits": "s.price_milliunits", "currency": "s.currency",
    "commitment_period": "s.commitment_period", "commitment_periods": "s.commitment_periods",
    "commitment_ends_at_ms": "s.commitment_ends_at_ms",
  ]

  /// An id that the row has for all spans that have no other one.
  private static func ofLast(_ name: String) -> String {
    "CASE typeof(s.\(name)) WHEN 'null' THEN e.\(name) WHEN 'text' THEN s.\(name) END"
  }

  private static func columns(_ product: String, _ renewed: String, _ counts: String) -> String {
    """
    e.id, e.app_id, e.original_transaction_id, e.checksum, e.last_seq, e.broken, e.state,
    e.answer_status, \(product), e.answer_from_ms, e.answer_until_ms, e.lasting_product_id,
    e.lasting_from_ms, e.event_count, e.last_uuid, e.last_type, e.last_subtype,
    e.last_signed_date_ms, e.auto_renew, e.renewal_product_id, \(renewed),
    e.grace_period_expires_at_ms, e.price_increase, e.commitment_auto_renew, e.revoked_at_ms,
    e.anomaly, \(counts)
    """
  }

  private static func spans(_ columns: String, _ tables: String) -> String {
    """
    SELECT \(columns) \(tables)
    WHERE s.entitlement_id = ?1 AND s.from_ms >= (
      SELECT max(n.from_ms) FROM entitlement_span n WHERE n.entitlement_id = ?1 AND n.from_ms <= ?2)
    ORDER BY s.from_ms
    """
  }
}

extension EntitlementRow {
  /// The row without what `ProjectionFile.comparedSchema` has no column for.
  public var asOlderLayout: EntitlementRow {
    var (row, known) = (self, KnownColumns())
    for index in row.purchases.indices { row.purchases[index].visit(&known) }
    return row
  }
}

private struct KnownColumns: PurchaseVisitor {
  func text(_ column: String, _ value: inout String?) {
    if RowLayout.comparedColumns[column] == nil { value = nil }
  }

  func integer(_ column: String, _ value: inout Int64?) {
    if RowLayout.comparedColumns[column] == nil { value = nil }
  }
}
