import AppStore
public import Entitlements
public import StrictJSON

/// What a customer may use at a time: the `customer` object of the public contract.
public struct CustomerDocument: Sendable {
  /// The id that was asked about.
  let id: String
  let kind: LedgerReader.CustomerQuestion.IdKind
  public let environment: String
  /// By name, in the order asked.
  public let entitlements: [(name: String, answer: NamedAnswer)]
  /// In key order.
  public let rows: [RowDocument]
  /// Whether there are more purchases than are shown.
  public let hasMore: Bool
  let asOf: Int64
  let knownAt: Int64?

  init(
    _ asked: LedgerReader.CustomerQuestion, entitlements: [(String, NamedAnswer)],
    _ rows: [RowDocument], isKnown: Bool, hasMore: Bool, _ question: LedgerReader.Question
  ) {
    (id, kind, environment) = (asked.id, asked.kind, asked.environment.rawValue)
    self.entitlements = entitlements.map { (name: $0.0, answer: $0.1) }
    self.rows = rows
    (self.isKnown, self.hasMore) = (isKnown, hasMore)
    (asOf, knownAt) = (question.time, question.knownAt)
  }

  /// Whether anything is known under the id. If not, nothing follows for the customer's access.
  public let isKnown: Bool

  /// The JSON object: members in the contract's order, times in milliseconds since 1970.
  public var json: JSONValue {
    .object([
      ("object", .string("customer")), ("id", .string(id)), ("by", .string(kind.rawValue)),
      ("environment", .string(environment)), ("known", .boolean(isKnown)),
      ("entitlements", .object(entitlements.map { ($0.name, Self.json($0.answer)) })),
      ("subscriptions", .array(rows.filter(\.isSubscription).map(\.json))),
      ("purchases", .array(rows.filter { !$0.isSubscription }.map(\.json))),
      ("more_purchases", .boolean(hasMore)), ("as_of", .integer(asOf)),
      ("known_at", .optional(knownAt)),
    ])
  }

  private static func json(_ answer: NamedAnswer) -> JSONValue {
    let access = answer.access
    let next = answer.next.map { change in
      JSONValue.object([("at", .integer(change.at)), ("active", .boolean(change.isActive))])
    }
    return .object([
      ("active", .boolean(access != nil)), ("expires_at", .optional(access?.expiresAt)),
      ("will_renew", .boolean(access?.willRenew ?? false)),
      ("basis", .optional(access?.basis.rawValue)), ("product_id", .optional(access?.productId)),
      ("original_transaction_id", .optional(access?.key?.originalTransactionId)),
      ("next", next ?? .null),
    ])
  }
}

extension RowDocument {
  /// Whether it is about a subscription that renews. V1 does not give the product type.
  fileprivate var isSubscription: Bool {
    guard let type = entitlement.purchase?.productType else {
      return entitlement.autoRenew != nil || entitlement.expiresAt != nil
    }
    return type == ProductType.autoRenewable
  }
}
