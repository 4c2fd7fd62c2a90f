import AppStore
import Clients
import Entitlements
import Queries
import Store
import StrictJSON

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
  var lines: [[PostgresValue]] = []
  var requests: [[PostgresValue]] = []
  var accounts: [[PostgresValue]] = []
  var events: [[PostgresValue]] = []

  private let rowFields: [RowField]
  private let spanFields: [RowField]
  private let lineFields: [TransactionField]
  private let hasRequests: Bool

  /// - Parameter layout: that of the tables.
  init(layout: Int64) {
    rowFields = MirrorSchema.fields(.row, layout)
    spanFields = MirrorSchema.fields(.span, layout)
    lineFields = layout < MirrorSchema.transactions ? [] : MirrorSchema.lineFields(layout)
    hasRequests = layout >= MirrorSchema.requests
  }

  // MARK: Columns

  var entitlementColumns: String { rowFields.map(\.column).joined(separator: ", ") }
  var spanColumns: String {
    (["from_ms"] + spanFields.map(\.column)).joined(separator: ", ")
  }

  var lineColumns: String { lineFields.map(\.column).joined(separator: ", ") }
  static let requestColumns = RefundField.all.map(\.column).joined(separator: ", ")
  static let accountColumns = "account, environment, bundle_id, original_transaction_id"
  static let eventColumns = """
    seq, notification_uuid, source, environment, bundle_id, notification_type, subtype,
    original_transaction_id, signed_date_ms, received_at_ms
    """

  // MARK: Rows

  mutating func add(_ mirrored: MirroredRow, durations: AppDurations) {
    let row = mirrored.row
    // Without an answer at any time there is no entitlement: GET says 404.
    let answers = row.answers(durations: durations[mirrored.key])
    guard !answers.isEmpty else { return }
    for (index, answer) in answers.enumerated() {
      let shown = RowAnswer(
        key: mirrored.key, entitlement: answer, eventCount: row.eventCount,
        lastEvent: row.lastEvent, succeededBy: mirrored.succeededBy)
      if index == 0 { entitlements.append(Self.values(rowFields, shown)) }
      spans.append([.integer(answer.asOf)] + Self.values(spanFields, shown))
    }
    if !lineFields.isEmpty { lines += mirrored.lines.map { Self.values(lineFields, $0) } }
    if hasRequests { requests += mirrored.requests.map { Self.values(RefundField.all, $0) } }
    for account in mirrored.accounts {
      accounts.append([
        PostgresText.value(account), .text(mirrored.key.environment.rawValue),
        PostgresText.value(mirrored.key.bundleId),
        PostgresText.value(mirrored.key.originalTransactionId),
      ])
    }
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

  static let customerColumns = """
    environment, bundle_id, customer_by, customer_id, name, active, basis, since_ms, expires_at_ms,
    product_id, original_transaction_id
    """

  /// In the order of `customerColumns`.
  static func values(
    of entitlement: CustomerEntitlement, _ customer: CustomerKey
  ) -> [PostgresValue] {
    let (answer, app) = (entitlement.answer, entitlement.customer)
    return [
      .text(app.environment.rawValue), PostgresText.value(app.bundleId),
      .text(customer.kind.rawValue), PostgresText.value(customer.id),
      PostgresText.value(entitlement.name), .boolean(answer.isActive), .text(answer.basis),
      .integer(entitlement.since), .integer(answer.expiresAt),
      PostgresText.value(answer.productId), PostgresText.value(entitlement.originalTransactionId),
    ]
  }

  private static func values<Subject>(
    _ fields: [Field<Subject>], _ subject: Subject
  ) -> [PostgresValue] {
    fields.map { field in
      switch field.value(subject) {
      case .none: .null
      case .text(let text): PostgresText.value(text)
      case .integer(let number): .integer(number)
      case .flag(let flag): .boolean(flag)
      case .uuid(let uuid): .uuid(uuid.bytes)
      case .texts(let texts): .texts(texts.map { PostgresText.of($0) })
      case .refunds(let refunds): PostgresText.value(JSONValue.array(refunds.map(\.json)).text)
      }
    }
  }
}
