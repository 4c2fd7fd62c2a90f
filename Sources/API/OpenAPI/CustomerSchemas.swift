import Entitlements
import Queries

/// What a customer may use, by name.
extension Schemas {
  static let customer = Schema.object([
    object("customer"), ("id", .text("The id that was asked about.")),
    ("by", .oneOf(idKinds, "What the id is.")), ("environment", environment),
    (
      "known",
      .boolean(
        "Whether anything is known under the id. If not, nothing follows about access: Apple may "
          + "not have told of the customer yet.")
    ),
    (
      "entitlements",
      .map(
        .named("NamedEntitlement"), "Every configured entitlement by its name, active or not.")
    ),
    ("subscriptions", .list(.named("Entitlement"))), ("purchases", .list(.named("Entitlement"))),
    (
      "more_purchases",
      .boolean("Whether there are more purchases, of consumables, than are listed.")
    ),
    ("as_of", .time("The time that this answer is for.")),
    (
      "known_at", .optional(.time("Only what had been received by then is used; null: everything."))
    ),
  ])

  static let namedEntitlement = Schema.object([
    ("active", .boolean("Whether the customer may use it at `as_of`.")),
    (
      "expires_at",
      .optional(
        .time("When this access ends, as far as is known; null if it does not, or is not active."))
    ),
    ("will_renew", .boolean("Whether Apple will charge again for any purchase that gives it.")),
    (
      "basis",
      .optional(
        .oneOf(NamedAnswer.Basis.allCases.map(\.rawValue), "Why it is active; null if it is not."))
    ),
    ("product_id", .optional(.text("The product that gives it."))),
    ("original_transaction_id", .optional(.text("The row that gives it."))), ("next", next),
  ])

  private static let next = Schema.optional(
    .object([
      ("at", .time("")), ("active", .boolean("Whether it is active from then on.")),
    ]))

  static let customerQuery = Schema.open(
    [
      (
        "ids",
        .list(.text("An id that you know the customer by."), count: 1...maximumIds)
      ),
      ("by", .oneOf(idKinds, "What the ids are; app_account_token if absent.")),
      ("environment", .oneOf(Parameter.environments, "Production if absent.")),
      ("bundle_id", .text("Only this app.")), ("as_of", .moment), ("known_at", .moment),
      ("min_seq", Parameter.minSeq.schema),
      ("after", .text("The next_page of an earlier answer to the same query.")),
    ], required: ["ids"], "Which customers to answer for.")

  private static let maximumIds = Int64(CustomerRoutes.maximumIds)
  private static let idKinds = LedgerReader.CustomerQuestion.IdKind.allCases.map(\.rawValue)
}
