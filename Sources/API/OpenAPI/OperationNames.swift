/// How the document groups and names the routes: clients that are generated from it have a module
/// for each tag and a method for each operation.
extension Route {
  enum Tag: String, CaseIterable {
    case customers, accounts, entitlements, ingest, ledger, daemon

    var meaning: String {
      switch self {
      case .customers: "What customers may use, by the names that the owner chose."
      case .accounts: "Which of your users have which purchases."
      case .entitlements: "Rows of single purchases, and their history."
      case .ingest: "What Apple signed, to be proven and journaled."
      case .ledger: "Counts, quarantine and comparisons of the whole ledger."
      case .daemon: "The state of the daemon; open to anyone, but for metrics."
      }
    }
  }

  var tag: Tag {
    switch name {
    case .customer, .customers, .grants, .grant, .revoke: .customers
    case .claim, .release, .erase: .accounts
    case .entitlements, .entitlement, .purchases, .history, .search, .order: .entitlements
    case .notifications, .transactions, .receipts: .ingest
    case .overview, .quarantine, .comparison, .sinks, .events: .ledger
    default: .daemon
    }
  }

  var operationId: String {
    switch name {
    case .notifications: "postNotification"
    case .transactions: "submitTransaction"
    case .receipts: "submitReceipt"
    case .customer: "getCustomer"
    case .customers: "queryCustomers"
    case .grants: "listGrants"
    case .grant: "createGrant"
    case .revoke: "revokeGrant"
    case .claim: "claimPurchase"
    case .release: "releasePurchase"
    case .erase: "eraseAccount"
    case .entitlements: "listEntitlements"
    case .entitlement: "getEntitlement"
    case .purchases: "listTransactions"
    case .history: "getHistory"
    case .search: "findPurchases"
    case .order: "lookUpOrder"
    case .overview: "getOverview"
    case .quarantine: "listQuarantine"
    case .comparison: "getComparison"
    case .sinks: "listSinks"
    case .events: "listEvents"
    case .healthz: "getHealth"
    case .readyz: "getReadiness"
    case .metrics: "getMetrics"
    case .version: "getVersion"
    case .openAPI: "getOpenAPI"
    // Not documented.
    case .page, .controlIngest, .controlProjection, .controlAdmit, .controlDrop, .controlStatement,
      .controlErase, .controlSink, .controlEvents, .controlRefusals, .controlRecovered:
      "\(name)"
    }
  }
}
