import AppStore
import Entitlements

/// The views of the live projection, the file that the link `entitlements.sqlite` leads to.
extension SQLView {
  static let entitlement = SQLView(
    name: "entitlement_v1",
    meaning: "One row for each customer's purchase (original transaction id), as of now.",
    columns: RowField.all.map(Column.init), schema: projectionSchema)

  static let entitlementSpan = SQLView(
    name: "entitlement_span_v1",
    meaning: "One row for each span of time in which the answer for a purchase is the same.",
    columns: fields("environment", "bundle_id", "original_transaction_id") + [
      Column("from_ms", .integer, "The start of the span; null if it has none."),
      Column("to_ms", .integer, "The end of the span, which it excludes; null if it has none."),
    ]
      + fields("status", "gives_access", "transaction_id", "product_id", "expires_at_ms", "gap"),
    schema: projectionSchema)

  static let transaction = SQLView(
    name: "transaction_v1",
    meaning: "One row for each purchase: a transaction that was bought or renewed.",
    columns: TransactionField.all.map(Column.init), schema: projectionSchema)

  static let refund = SQLView(
    name: "refund_v1",
    meaning: "One row for each refund, and each reversal of one, of a purchase.",
    columns: fields("environment", "bundle_id", "original_transaction_id") + [
      Column("transaction_id", .text, "The purchase, as in transaction_v1."),
      Column("product_id", .text, "Its product."),
      Column("purchased_at_ms", .integer, "When it was bought or renewed."),
      Column("kind", .text, "refund: given back; reversal: charged again."),
      Column("at_ms", .integer, "When. Neither changes once Apple has told it."),
      Column("milliunits", .integer, "How much; null if that is not known."),
      Column("currency", .text, "The currency code of ISO 4217."),
      Column("type", .text, "Apple's revocationType, or refundType of an item."),
      Column(
        "percentage", .integer,
        "The share of the price that was given back by then, in thousandths of a percent."),
    ], schema: projectionSchema)

  static let refundRequest = SQLView(
    name: "refund_request_v1",
    meaning: "One row for each request of a customer for a refund, as of now.",
    columns: RefundField.all.map(Column.init), schema: projectionSchema)

  private static func fields(_ names: String...) -> [Column] {
    names.flatMap { name in RowField.all.filter { $0.column == name }.map(Column.init) }
  }

  /// What the view `entitlement_v1` selects: of the row `e`, its span `s`, its app `a`, a
  /// duration `d`, and the `clock`.
  static let selected = RowField.all.map { field in
    let source = field.place == .row ? "e" : "s"
    return expressions[field.column].map { "\($0) AS \(field.column)" }
      ?? "\(source).\(field.column)"
  }.joined(separator: ",\n  ")

  /// Of what is not stored under its name.
  private static let expressions = [
    "environment": "a.environment", "bundle_id": "a.bundle_id",
    "original_transaction_id": "e.original_transaction_id",
    "status": "iif(\(isOver), 'expired', s.status)",
    "gives_access": "iif(\(isOver), 0, s.gives_access)",
    "expires_at_ms": "coalesce(e.lasting_from_ms + d.milliseconds, s.paid_through_ms)",
    "pending_product_id": """
    CASE WHEN e.auto_renew
      AND e.renewal_product_id IS NOT coalesce(e.renewed_product_id, s.product_id)
      THEN e.renewal_product_id END
    """,
    "price_increase": "CASE e.price_increase WHEN 0 THEN 'pending' WHEN 1 THEN 'accepted' END",
    "commitment_auto_renew": "iif(s.commitment_period IS NULL, NULL, e.commitment_auto_renew)",
    // As `EntitlementRow` has it: a period that was refunded says nothing of the next one.
    "revoked_at_ms": """
    iif(s.status = 'revoked' OR s.gap OR e.revoked_at_ms > clock.now, e.revoked_at_ms, NULL)
    """,
    "succeeded_by": successor, "last_event_seq": "e.last_seq",
    "last_notification_uuid": """
    lower(substr(hex(e.last_uuid), 1, 8) || '-' || substr(hex(e.last_uuid), 9, 4) || '-'
      || substr(hex(e.last_uuid), 13, 4) || '-' || substr(hex(e.last_uuid), 17, 4) || '-'
      || substr(hex(e.last_uuid), 21))
    """,
    "last_notification_type": "e.last_type",
  ]

  /// `transaction_v1` of a connection that has the journal: `signed_date_ms` is that of the newest
  /// evidence, journaled or held.
  ///
  /// - Parameter time: only evidence that had been received by then, milliseconds since 1970.
  static func confirmedTransactionSQL(_ time: Int64) -> String {
    """
    CREATE TEMP VIEW transaction_v1 AS SELECT
    \(TransactionField.all.map { confirmed($0.column, time) }.joined(separator: ", "))
    FROM \(projectionSchema).transaction_v1 t
    """
  }

  private static func confirmed(_ column: String, _ time: Int64) -> String {
    guard column == "signed_date_ms" else { return "t.\(column)" }
    return """
      max(t.signed_date_ms, coalesce((
        SELECT max(h.signed_date_ms) FROM \(journalSchema).held_evidence h
        WHERE h.transaction_id = t.transaction_id AND h.received_at_ms <= \(time)
        AND h.stream_id = (
          SELECT s.id FROM \(journalSchema).stream s JOIN \(journalSchema).app a ON a.id = s.app_id
          WHERE s.original_transaction_id = t.original_transaction_id
          AND a.environment = t.environment AND a.bundle_id = t.bundle_id)), 0)) AS signed_date_ms
      """
  }

  /// What the view `transaction_v1` selects: of the line `t`, its row `e` and its app `a`.
  static let selectedLine = TransactionField.all.map { field in
    lineExpressions[field.column].map { "\($0) AS \(field.column)" } ?? "t.\(field.column)"
  }.joined(separator: ",\n  ")

  /// Of what is not stored under its name. What is taken back within a day of the purchase that
  /// replaces the row is no refund, as in `Replacement`.
  private static let lineExpressions = [
    "environment": "a.environment", "bundle_id": "a.bundle_id",
    "original_transaction_id": "e.original_transaction_id",
    "refunded_milliunits": """
    iif(t.refunded_milliunits > 0 AND \(isReplaced), 0, t.refunded_milliunits)
    """, "refunds": "iif(t.refunds IS NOT NULL AND \(isReplaced), NULL, t.refunds)",
  ]

  /// What the view `refund_request_v1` selects: of the request `r`, its row `e` and its app `a`. As
  /// `RefundLine.shown` has it.
  static let selectedRequest = RefundField.all.map { field in
    requestExpressions[field.column].map { "\($0) AS \(field.column)" } ?? "r.\(field.column)"
  }.joined(separator: ",\n  ")

  static let requestExpressions = [
    "environment": "a.environment", "bundle_id": "a.bundle_id",
    "original_transaction_id": "e.original_transaction_id",
    "state": "iif(r.state = 'waiting' AND r.deadline_ms <= clock.now, 'missed', r.state)",
    "outcome": """
    iif(r.outcome IS NULL AND r.source = 'v1'
      AND r.requested_at_ms + \(RefundRequest.untoldAfter) <= clock.now, '\(RefundLine.untold)',
      r.outcome)
    """,
  ]

  /// Whether the line `t` was taken back because another purchase replaced its row.
  static let isReplaced = """
    EXISTS (
        SELECT 1 FROM predecessor n
        WHERE n.original_transaction_id = e.original_transaction_id AND n.app_id = t.app_id
        AND n.named_at_ms BETWEEN t.revoked_at_ms - 86400000 AND t.revoked_at_ms + 86400000)
    """

  private static let isOver =
    "s.status = 'active' AND e.lasting_from_ms + d.milliseconds <= clock.now"

  /// The successor that names it last, unless following successors from there leads back and it is
  /// itself the one of that circle that names last.
  private static let successor = """
    (WITH RECURSIVE succession (first, id, named_at_ms, transaction_id) AS (
        SELECT successor, successor, named_at_ms, transaction_id FROM (
          SELECT * FROM predecessor n
          WHERE n.original_transaction_id = e.original_transaction_id AND n.app_id = e.app_id
          ORDER BY n.named_at_ms DESC, n.transaction_id DESC, n.successor DESC LIMIT 1)
        UNION
        SELECT first, p.successor, p.named_at_ms, p.transaction_id
        FROM succession JOIN predecessor p ON p.original_transaction_id = id AND p.app_id = e.app_id
          AND p.successor = (
            SELECT n.successor FROM predecessor n
            WHERE n.original_transaction_id = id AND n.app_id = e.app_id
            ORDER BY n.named_at_ms DESC, n.transaction_id DESC, n.successor DESC LIMIT 1)
        WHERE id <> e.original_transaction_id
      )
      SELECT iif(id = e.original_transaction_id, NULL, first) FROM succession
      ORDER BY named_at_ms DESC, transaction_id DESC, id DESC LIMIT 1)
    """
}

extension SQLView.Column {
  fileprivate init<Subject>(_ field: Field<Subject>) {
    let more =
      switch field.kind {
      case .text, .uuid, .integer, .time: ""
      case .texts: " A JSON array."
      case .refunds: " A JSON array, as rows in refund_v1."
      case .flag: " 1 if so, else 0."
      case .oneOf(let values): " One of: " + values.joined(separator: ", ") + "."
      }
    self.init(field.column, field.kind.columnType, field.meaning + more)
  }
}

extension FieldKind {
  /// What it is stored as.
  var columnType: SQLView.ColumnType {
    switch self {
    case .integer, .time, .flag: .integer
    case .text, .oneOf, .uuid, .texts, .refunds: .text
    }
  }
}
