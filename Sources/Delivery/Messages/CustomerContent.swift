import AppStore
import Platform
import Queries
import SignedData
import Store
import StrictJSON

/// What a customer has by name, and had: the data of `customer.entitlement_changed`.
struct CustomerContent: Sendable {
  let customer: CustomerKey
  let change: CustomerChange

  /// A UUID of version 8 over what is told: the same in every attempt, and of every daemon.
  var id: String {
    let (who, cause) = (change.customer, change.cause)
    let after = CustomerEntitlement.Answer.object.json(change.after).text
    let parts = [
      "subledger.\(MessageKind.customer.type).v1", who.environment.rawValue, who.bundleId,
      who.by, Hexadecimal.encode(who.id), change.name, cause.reason.rawValue, "\(cause.seq ?? 0)",
      "\(cause.at)", after,
    ]
    let digest = SHA256.hash(Array(parts.joined(separator: "\0").utf8))
    return NotificationUUID(digest: digest).description
  }

  static let object = JSONObject<CustomerContent>([
    JSONMember("customer", who) { $0.customer },
    JSONMember("environment", .environment) { $0.change.customer.environment.rawValue },
    JSONMember("bundle_id", .bundleId) { $0.change.customer.bundleId },
    JSONMember("name", .text("The entitlement, as the mapping of products names it.")) {
      $0.change.name
    },
    JSONMember("before", CustomerEntitlement.Answer.object) { $0.change.before },
    JSONMember("after", CustomerEntitlement.Answer.object) { $0.change.after },
    JSONMember(
      "because",
      .oneOf(
        CustomerCause.Reason.allCases.map(\.rawValue),
        "Why: Apple's event, the time alone, the mapping, a claim or release, a grant or its "
          + "end, the erasure of another's claim, or other rules.")
    ) { $0.change.cause.reason.rawValue },
    JSONMember("seq", .integer("The event that says so; null if none does.")) {
      $0.change.cause.seq
    },
    JSONMember("at", .time("When it happened.")) { $0.change.cause.at },
  ])

  private static let who = JSONObject<CustomerKey>([
    JSONMember(
      "by",
      .oneOf(
        LedgerReader.CustomerQuestion.IdKind.allCases.map(\.rawValue), "What the id is.")
    ) { $0.kind.rawValue },
    JSONMember("id", .text("Each account that claimed the purchase, else its token, else its id."))
    {
      $0.id
    },
  ])
}
