import AppStore
import Platform
import Queries
import Store
import StrictJSON

/// What the owner said, in the message about it: of whom, and about which entitlement.
struct StatementContent {
  /// Nil once he was forgotten.
  let customer: CustomerName?
  /// The name of the entitlement; nil of a claim, which is about the purchase of the message.
  private(set) var entitlement: String?
  /// The id of the grant.
  private(set) var grant: String?
  private(set) var until: Int64?
  private(set) var reason: String?
  /// Why the grant was ended; nil if it was not.
  private(set) var revocationReason: String?

  /// - Parameter granted: the grant that the statement ends, if it ends one.
  init(_ statement: OwnerStatement, of customer: CustomerName?, ending granted: OwnerStatement?) {
    self.customer = customer
    let grant = granted ?? statement
    guard case .grant(let entitlement, let until, let reason) = grant.content else { return }
    (self.grant, self.entitlement) = (grant.id, entitlement)
    (self.until, self.reason) = (until, reason)
    revocationReason = granted == nil ? nil : statement.reason
  }

  static let object = JSONObject<StatementContent>([
    JSONMember("by", .text("What the id of the customer is; null once he was forgotten.")) {
      $0.customer?.kind.rawValue
    },
    JSONMember("customer", .text("The id; null once he was forgotten.")) { $0.customer?.name },
    JSONMember("entitlement", .text("The name that was granted; null of a claim.")) {
      $0.entitlement
    },
    JSONMember("grant", .text("The id of the grant; null of a claim.")) { $0.grant },
    JSONMember("until", .time("When the grant was to end; null: never.")) { $0.until },
    JSONMember("reason", .text()) { $0.reason },
    JSONMember("revocation_reason", .text("Why the grant was ended.")) { $0.revocationReason },
  ])
}

extension MessageMaker {
  /// What the owner said with an event; nil if the event cannot be read.
  func statement(_ event: StoredEvent) throws(Failure) -> StatementContent? {
    guard let said = OwnerStatement(body: event.body) else { return nil }
    return try read { () throws(LedgerError) in
      StatementContent(
        said, of: try reader.journal.customer(of: said.mac),
        ending: try reader.journal.grant(endedBy: said)?.statement)
    }
  }
}
