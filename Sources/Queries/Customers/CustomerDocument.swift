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
    _ standing: LedgerReader.Standing, _ question: LedgerReader.Question
  ) {
    (id, kind, environment) = (asked.id, asked.kind, asked.environment.rawValue)
    self.entitlements = entitlements.map { (name: $0.0, answer: $0.1) }
    rows = standing.documents
    (isKnown, hasMore) = (standing.isKnown, standing.hasMore)
    (asOf, knownAt) = (question.time, question.knownAt)
  }

  /// Whether anything is known under the id. If not, nothing follows for the customer's access.
  public let isKnown: Bool

  /// The JSON object: members in the contract's order, times in milliseconds since 1970.
  public var json: JSONValue { Self.object.json(self) }

  public static let object = JSONObject<CustomerDocument>(
    "Customer",
    [
      .type("customer"), JSONMember("id", .text("The id that was asked about.")) { $0.id },
      JSONMember(
        "by",
        .oneOf(LedgerReader.CustomerQuestion.IdKind.allCases.map(\.rawValue), "What the id is.")
      ) { $0.kind.rawValue },
      JSONMember("environment", .environment) { $0.environment },
      JSONMember(
        "known",
        .boolean(
          "Whether anything is known under the id. If not, nothing follows about access: Apple may "
            + "not have told of the customer yet.")
      ) { $0.isKnown },
      JSONMember(
        "entitlements",
        .map(NamedAnswer.object.schema, "Every configured entitlement by its name, active or not.")
      ) { customer in
        JSONValue.object(
          customer.entitlements.map { ($0.name, NamedAnswer.object.json($0.answer)) })
      },
      JSONMember("subscriptions", listOf: RowDocument.object) { $0.rows.filter(\.isSubscription) },
      JSONMember("purchases", listOf: RowDocument.object) { $0.rows.filter { !$0.isSubscription } },
      JSONMember(
        "more_purchases",
        .boolean("Whether there are more purchases, of consumables, than are listed.")
      ) { $0.hasMore },
      JSONMember("as_of", RowDocument.asOf) { $0.asOf },
      JSONMember(
        "known_at", .time("Only what had been received by then is used; null: everything.")
      ) { $0.knownAt },
    ])
}

extension NamedAnswer {
  public static let object = JSONObject<NamedAnswer>(
    "NamedEntitlement",
    [
      JSONMember("active", .boolean("Whether the customer may use it at `as_of`.")) {
        $0.access != nil
      },
      JSONMember(
        "expires_at",
        .time("When this access ends, as far as is known; null if it does not, or is not active.")
      ) { $0.access?.expiresAt },
      JSONMember(
        "will_renew", .boolean("Whether Apple will charge again for any purchase that gives it.")
      ) { $0.access?.willRenew ?? false },
      JSONMember(
        "basis",
        .oneOf(Basis.allCases.map(\.rawValue), "Why it is active; null if it is not.")
      ) { $0.access?.basis.rawValue },
      JSONMember(
        "product_id",
        .text("The product that gives it; while it is not active, the one that `reason` is about.")
      ) { $0.access?.productId ?? $0.absence?.productId },
      JSONMember("original_transaction_id", .text("The row with that product.")) {
        ($0.access?.key ?? $0.absence?.key)?.originalTransactionId
      },
      JSONMember("next", change) { $0.next },
      JSONMember(
        "reason",
        .oneOf(
          Absence.Reason.allCases.map(\.rawValue),
          "Why it is not active; null if it is. unmapped: the configuration gives nothing for the "
            + "product that the customer has.")
      ) { $0.absence?.reason.rawValue },
      JSONMember("ended_at", .time("When access ended; null if it is active, or never was.")) {
        $0.absence?.endedAt
      },
      JSONMember("trial", .boolean("Whether it is a free trial, so that nothing was paid yet.")) {
        $0.access?.isTrial ?? false
      },
      JSONMember(
        "offer_type",
        .integer(
          "The offer of the period that is paid for. Apple's offerType: "
            + "\(ValueDescriptions.offerType.list).")
      ) { $0.access?.offer?.type },
    ])

  private static let change = JSONObject<Change>([
    JSONMember("at", .time()) { $0.at },
    JSONMember("active", .boolean("Whether it is active from then on.")) { $0.isActive },
  ])
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
