import AppStore
import Entitlements
import Support
import Testing

@testable import Ledger

/// The fingerprint of the fold covers all that decides an answer.
@Suite struct FoldFingerprintTests {
  private static let span = EntitlementRow.Span(
    from: 1, status: .active, givesAccess: true, purchase: 0, productId: "p", expiresAt: 2,
    hasGap: false)

  private static let row: EntitlementRow = {
    var row = EntitlementRow()
    var purchase = Purchase(
      transactionId: "1", productType: "T", ownership: "O", subscriptionGroupId: "g", startsAt: 1)
    purchase.offer = .init(type: 1, identifier: "i", discountType: "d", period: "P1M")
    purchase.price = .init(milliunits: 1, currency: "USD")
    purchase.commitment = .init(
      billingPeriodNumber: 1, totalBillingPeriods: 2, commitmentExpiresDate: 3)
    (row.purchases, row.spans) = ([purchase], [span])
    row.lastEvent = .init(
      seq: 1, uuid: NotificationUUID(high: 1, low: 1), notificationType: "T", signedDate: 1)
    return row
  }()

  private static let changes: [(String, @Sendable (inout EntitlementRow) -> Void)] = [
    ("status", { $0.spans[0].status = .gracePeriod }),
    ("access", { $0.spans[0].givesAccess = false }), ("from", { $0.spans[0].from = 0 }),
    ("no purchase", { $0.spans[0].purchase = nil }), ("product", { $0.spans[0].productId = "q" }),
    ("expiry", { $0.spans[0].expiresAt = 3 }), ("no expiry", { $0.spans[0].expiresAt = nil }),
    ("gap", { $0.spans[0].hasGap = true }), ("seats", { $0.spans[0].seats = 2 }),
    ("another span", { $0.spans.append(Self.other) }),
    ("transaction", { $0.purchases[0].transactionId = "2" }),
    ("kind", { $0.purchases[0].productType = "Consumable" }),
    ("ownership", { $0.purchases[0].ownership = nil }),
    ("group", { $0.purchases[0].subscriptionGroupId = nil }),
    ("start", { $0.purchases[0].startsAt = 0 }),
    ("token", { $0.purchases[0].appAccountToken = "t" }),
    ("download", { $0.purchases[0].appTransactionId = "a" }),
    ("offer", { $0.purchases[0].offer?.period = nil }),
    ("no offer", { $0.purchases[0].offer = nil }),
    ("price", { $0.purchases[0].price?.milliunits = 2 }),
    ("currency", { $0.purchases[0].price?.currency = nil }),
    ("commitment", { $0.purchases[0].commitment?.billingPeriodNumber = 2 }),
    ("grace", { $0.gracePeriodExpiresAt = 1 }), ("revocation", { $0.revokedAt = 9 }),
    ("auto-renew", { $0.autoRenew = false }), ("next product", { $0.renewalProductId = "q" }),
    ("price increase", { $0.priceIncrease = .pending }),
    ("next commitment", { $0.commitmentAutoRenew = true }), ("anomaly", { $0.hasAnomaly = true }),
    ("lasting", { $0.lasting = .init(productId: "p", from: 1) }), ("count", { $0.eventCount = 2 }),
    ("last event", { $0.lastEvent?.subtype = "S" }),
  ]

  private static var other: EntitlementRow.Span {
    var other = span
    (other.from, other.status, other.givesAccess) = (2, .expired, false)
    return other
  }

  @Test func `each answer of a row counts, and nothing counts twice`() {
    var seen: [[String]: String] = [FoldFingerprint.lines(Self.row): "none"]
    for (name, change) in Self.changes {
      var row = Self.row
      change(&row)
      #expect(seen.updateValue(name, forKey: FoldFingerprint.lines(row)) == nil, "\(name)")
    }
  }

  /// What rules ask for occurs often enough that a changed rule changes some answer.
  @Test func `the generated histories have all that decides an answer`() {
    var histories = FoldHistories()
    var found: [String: Int] = [:]
    for _ in 0..<FoldHistories.count {
      var state = StreamState()
      for event in histories.next() {
        state.evolve(event)
        found["\(event.source) \(event.environment)", default: 0] += 1
        let type = [event.notificationType, event.subtype].compactMap { $0 }
        found[type.joined(separator: " "), default: 0] += 1
      }
      for name in Self.facts(state) { found[name, default: 0] += 1 }
    }
    let wanted =
      [
        "v2 Production", "v2 Sandbox", "v1 Production", "receipt Production", "receipt Sandbox",
        "transaction Production", "DID_FAIL_TO_RENEW GRACE_PERIOD", "REFUND_REVERSED",
      ] + Entitlement.Status.allCases.map { "status \($0)" } + [
        "gap", "anomaly", "twins", "predecessor", "monthly", "grace without a date",
        "kind Consumable", "kind Non-Consumable", "kind Non-Renewing Subscription",
        "kind Another Kind", "no kind", "access", "no access", "commitment", "added seats",
      ]
    for name in wanted { #expect(found[name] ?? 0 >= 10, "\(name): \(found[name] ?? 0)") }
  }

  private static func facts(_ state: StreamState) -> Set<String> {
    var facts: Set<String> = []
    let row = EntitlementRow(state)
    for span in row.spans {
      facts.insert("status \(span.status)")
      facts.insert(span.givesAccess ? "access" : "no access")
      if span.hasGap { facts.insert("gap") }
    }
    if row.hasAnomaly { facts.insert("anomaly") }
    if !state.predecessors.isEmpty { facts.insert("predecessor") }
    let info = state.renewal?.renewal
    if state.status?.status == 4, info?.gracePeriodExpiresDate == nil, info?.autoRenewStatus != 0 {
      facts.insert("grace without a date")
    }
    let transactions = state.transactions.values.map(\.transaction)
    for transaction in transactions {
      if transaction.billingPlanType == "MONTHLY" { facts.insert("monthly") }
      if transaction.commitment != nil { facts.insert("commitment") }
      if transaction.additionalTransactionReason != nil { facts.insert("added seats") }
      guard transaction.expiresDate == nil else { continue }
      facts.insert(transaction.type.map { "kind \($0)" } ?? "no kind")
    }
    let items = transactions.compactMap(\.webOrderLineItemId).filter { !["0", ""].contains($0) }
    if Set(items).count < items.count { facts.insert("twins") }
    return facts
  }
}
