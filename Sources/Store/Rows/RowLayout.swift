import Entitlements

/// The tables of rows and spans: what `RowReading` selects, in its order.
enum RowLayout {
  /// The columns that `EntitlementRow.visitColumns` adds, and the numbers of lines and requests.
  static let content = 11..<requestCount + 1
  /// The first column of the renewal's terms, and the numbers that follow them.
  static let firstTerm: Int32 = 27
  static let lineCount = firstTerm + Int32(termNames.count)
  static let requestCount = lineCount + 1
  private static let termNames = PurchaseColumns.terms.map(\.name)
  /// As they are written.
  static let terms = termNames.joined(separator: ", ")
  /// Of the checksum, and of the transaction.
  static let (spanColumns, firstPurchaseColumn) = (
    Int32(spanNames.count), Int32(answerNames.count)
  )

  private static let answerNames = [
    "checksum", "from_ms", "to_ms", "status", "gives_access", "product_id", "expiry",
    "expires_at_ms", "gap", "is_turn", "seats",
  ]
  /// Of the table `entitlement_span`, in the order of `EntitlementRow.visitSpan`.
  static let spanNames = answerNames + PurchaseColumns.all.map(\.name)

  /// The definitions of the columns of a purchase, for the table `entitlement_span`.
  static let purchaseColumns = PurchaseColumns.all.map { "\($0.name) \($0.type)," }
    .joined(separator: "\n  ")

  /// Those of the renewal's terms, for the table `entitlement`.
  static let termColumns = PurchaseColumns.terms.map { "\($0.name) \($0.type)," }
    .joined(separator: "\n  ")

  /// The columns of a row, of a table `e`.
  static let columns = """
    e.id, e.app_id, e.original_transaction_id, e.checksum, e.last_seq, e.broken, e.state,
    e.answer_status, e.answer_product_id, e.answer_from_ms, e.answer_until_ms, e.lasting_product_id,
    e.lasting_from_ms, e.event_count, e.last_uuid, e.last_type, e.last_subtype,
    e.last_signed_date_ms, e.auto_renew, e.renewal_product_id, e.renewed_product_id,
    e.grace_period_expires_at_ms, e.price_increase, e.commitment_auto_renew, e.revoked_at_ms,
    e.anomaly, e.span_count, \(termNames.map { "e.\($0)" }.joined(separator: ", ")), e.line_count,
    e.request_count
    """

  /// Selects the spans of the row ?1 from the one that answers at the time ?2 on.
  static let spans = """
    SELECT \(spanNames.map { "s.\($0)" }.joined(separator: ", ")) FROM entitlement_span s
    WHERE s.entitlement_id = ?1 AND s.from_ms >= (
      SELECT max(n.from_ms) FROM entitlement_span n WHERE n.entitlement_id = ?1 AND n.from_ms <= ?2)
    ORDER BY s.from_ms
    """
}
