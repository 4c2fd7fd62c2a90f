import AppStore
import Entitlements
import Ledger
import Platform
import Testing

/// The key `refunds`.
@Suite struct RefundReadingTests {
  private let folder: ConfigurationFolder

  init() throws { folder = try ConfigurationFolder() }

  private func policies(_ text: String) throws -> [RefundPolicy]? {
    try folder.load("{\"refunds\": {\"policies\": [\(text)]}}").refundPolicies
  }

  @Test func `without the key Apple is told nothing, and without policies only what was said`()
    throws
  {
    #expect(try folder.load("{}").refundPolicies == nil)
    #expect(try folder.load(#"{"refunds":{}}"#).refundPolicies == [])
  }

  @Test func `every member is read`() throws {
    let read = try policies(
      """
      { "name": "renewal by surprise", "types": ["Auto-Renewable Subscription"],
        "reasons": ["UNINTENDED_PURCHASE"], "products": ["pro.*"], "environments": ["Production"],
        "bought_within_hours": 24, "refunds_before_at_most": 0, "delivery": "DELIVERED",
        "sample": true, "prefer": "GRANT_FULL", "wait_seconds": 39600 },
      { "name": "not delivered", "prefer": "GRANT_FULL", "// note": "as support says",
        "said_delivery": ["UNDELIVERED_SERVER_OUTAGE", "UNDELIVERED_OTHER"] },
      { "name": "used up", "types": ["Consumable"], "said_consumed_at_least": 100000,
        "prefer": "DECLINE" },
      { "name": "else", "prefer": "SILENT" }
      """)
    var surprise = RefundPolicy("renewal by surprise", .full)
    surprise.types = [ProductType.autoRenewable]
    (surprise.reasons, surprise.products) = (["UNINTENDED_PURCHASE"], ["pro.*"])
    (surprise.environments, surprise.boughtWithinHours) = ([.production], 24)
    (surprise.refundsBeforeAtMost, surprise.waitSeconds) = (0, 39_600)
    (surprise.delivery, surprise.sample) = (.delivered, true)
    var outage = RefundPolicy("not delivered", .full)
    outage.saidDelivery = [.serverOutage, .other]
    var used = RefundPolicy("used up", .decline)
    (used.types, used.saidConsumedAtLeast) = ([ProductType.consumable], 100_000)
    #expect(read == [surprise, outage, used, RefundPolicy("else", .silent)])
  }

  @Test(arguments: [
    (#""prefer": "DECLINE""#, "name"), (#""name": "a""#, "prefer"),
    (#""name": "a", "prefer": "MAYBE""#, "prefer"),
    (#""name": "a", "prefer": "DECLINE""#, "neither"),
    (#""name": "a", "prefer": "NONE", "delivery": "DELIVERED""#, "neither"),
    (#""name": "a", "prefer": "NONE", "sample": true"#, "neither"),
    (#""name": "a", "prefer": "SILENT", "sample": "yes""#, "sample"),
    (#""name": "a", "prefer": "SILENT", "delivery": "LOST""#, "delivery"),
    (#""name": "a", "prefer": "SILENT", "wait_seconds": 39601"#, "wait_seconds"),
    (#""name": "a", "prefer": "SILENT", "types": ["Coins"]"#, "types"),
    (#""name": "a", "prefer": "SILENT", "types": []"#, "types"),
    (#""name": "a", "prefer": "SILENT", "reasons": ["BORED"]"#, "reasons"),
    (#""name": "a", "prefer": "SILENT", "environments": []"#, "environments"),
    (#""name": "a", "prefer": "SILENT", "products": ["*"]"#, "products"),
    (#""name": "a", "prefer": "SILENT", "said_delivery": ["LOST"]"#, "said_delivery"),
    (#""name": "a", "prefer": "SILENT", "said_consumed_at_least": 100001"#, "said_consumed"),
    (#""name": "a", "prefer": "SILENT", "refunds_before_at_most": -1"#, "refunds_before"),
    (#""name": "a", "prefer": "SILENT", "bought_within_hours": 0"#, "bought_within"),
    (#""name": "a", "prefer": "SILENT", "boughtWithinHours": 1"#, "boughtWithinHours"),
    (#""name": "first", "prefer": "SILENT""#, "twice"),
  ]) func `a policy that cannot be used is refused with its line`(text: String, what: String) throws
  {
    let refusal = try #require(throws: LedgerError.self) {
      try policies("\n{ \"name\": \"first\", \"prefer\": \"SILENT\" },\n\n{ \(text) }")
    }
    #expect(refusal.message.contains(what), "\(refusal)")
    #expect(refusal.message.contains("refunds.policies[1], line 4:"), "\(refusal)")
  }

  @Test func `a changed list counts after a reload`() throws {
    let running = try folder.load("{}")
    let reload = try Reload(from: running, to: try folder.load(#"{"refunds":{}}"#))
    #expect(reload.configuration.refundPolicies == [] && reload.needsRestart.isEmpty)
    #expect(reload.changes == ["refunds changed"])
  }
}
