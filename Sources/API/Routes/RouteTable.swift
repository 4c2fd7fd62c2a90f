extension Route {
  /// All routes of the server, in the order of the OpenAPI document.
  static let table: [Route] =
    [
      notifications, transactions, receipts, entitlements, entitlement, purchases, history, order,
      search, customer, customers, refundRequests, refundRequest, answerRefundRequest, overview,
      reports, report, quarantine, comparison, events, sinks, metrics, claim, release, erase,
      grants, grant, revoke, consent, healthz, readyz, version, openAPI,
    ] + control + ConsolePages.routes

  /// The routes of the public contract.
  static let documented: [Route] = table.filter { $0.operationId != nil }
}
