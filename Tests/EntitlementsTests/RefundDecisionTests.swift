import AppStore
import Entitlements
import Support
import Testing

/// What is to be done about a request for a refund.
@Suite struct RefundDecisionTests {
  private static let asked = RandomRefund.asked
  private static let hour: Int64 = 3_600_000
  private static let id = NotificationUUID(high: 1, low: 1)

  private static func request(
    _ transaction: Transaction, reason: String? = "UNINTENDED_PURCHASE",
    _ statements: [(RefundStatement.Content, Int64)] = []
  ) -> RefundRequest {
    let event = FoldEvent(
      seq: 1, uuid: id, notificationType: "CONSUMPTION_REQUEST", subtype: nil, signedDate: asked,
      transactions: [transaction], consumptionRequestReason: reason)
    let said = statements.enumerated().map { index, statement in
      RefundEvent(
        RefundStatement(statement.0, about: id),
        uuid: NotificationUUID(high: 2, low: UInt64(index)), at: asked + statement.1)
    }
    return RefundRequest.all(of: RefundEvent.all(in: event, receivedAt: asked) + said)[0]
  }

  private static func purchase(
    _ type: String, _ product: String = "pro.monthly", hoursAgo: Int64 = 1
  ) -> Transaction {
    var transaction = Transaction()
    (transaction.transactionId, transaction.productId, transaction.type) = ("1", product, type)
    transaction.purchaseDate = asked - hoursAgo * hour
    return transaction
  }

  private static func facts(
    _ transaction: Transaction, consent: Bool? = true, refundsBefore: Int64 = 0
  ) -> RefundFacts {
    var facts = RefundFacts(transaction, in: .production)
    facts.consent = consent.map { ($0, asked - hour) }
    facts.refundsBefore = refundsBefore
    return facts
  }

  private static let renewal = purchase(ProductType.autoRenewable)
  private static let coins = purchase(ProductType.consumable, "coins")

  /// The list of the guide.
  private static let policies: [RefundPolicy] = {
    var surprise = RefundPolicy("renewal by surprise", .full)
    surprise.types = [ProductType.autoRenewable]
    surprise.reasons = ["UNINTENDED_PURCHASE"]
    (surprise.boughtWithinHours, surprise.refundsBeforeAtMost) = (24, 0)
    (surprise.delivery, surprise.sample) = (.delivered, true)
    var outage = RefundPolicy("not delivered", .full)
    outage.saidDelivery = [.serverOutage, .other]
    var used = RefundPolicy("used up", .decline)
    (used.types, used.saidConsumedAtLeast) = ([ProductType.consumable], 100_000)
    return [surprise, outage, used, RefundPolicy("else", .silent)]
  }()

  private static func decision(
    _ facts: RefundFacts, _ word: RefundWord? = nil, reason: String? = "UNINTENDED_PURCHASE",
    _ policies: [RefundPolicy] = Self.policies, after: Int64 = 2 * hour
  ) -> RefundDecision {
    let said = word.map { [(RefundStatement.Content.said($0), hour)] } ?? []
    return RefundDecision(
      on: request(facts.transaction, reason: reason, said), facts, policies, at: asked + after)
  }

  private static let full = ConsumptionInformation(
    .delivered, sampleContentProvided: true, preference: .full)

  // MARK: Who decides

  @Test func `the first policy whose conditions all hold decides`() {
    let surprise = RefundDecision.send(
      Self.full, policy: "renewal by surprise", refusals: [])
    #expect(Self.decision(Self.facts(Self.renewal)) == surprise)
    let silent = RefundDecision.withhold(.silent(policy: "else"))
    #expect(Self.decision(Self.facts(Self.renewal, refundsBefore: 1)) == silent)
    #expect(Self.decision(Self.facts(Self.renewal), reason: "LEGAL") == silent)
    #expect(Self.decision(Self.facts(Self.renewal), reason: nil) == silent)
    #expect(Self.decision(Self.facts(Self.coins)) == silent)
    let old = Self.purchase(ProductType.autoRenewable, hoursAgo: 25)
    #expect(Self.decision(Self.facts(old)) == silent)
    let limit = Self.purchase(ProductType.autoRenewable, hoursAgo: 24)
    #expect(Self.decision(Self.facts(limit)) == surprise)
    #expect(Self.decision(Self.facts(Self.coins), nil, []) == .open)
  }

  @Test func `products and environments are conditions`() {
    var policy = RefundPolicy("pro", .silent)
    policy.products = ["pro.*"]
    let silent = RefundDecision.withhold(.silent(policy: "pro"))
    #expect(Self.decision(Self.facts(Self.renewal), nil, [policy]) == silent)
    #expect(Self.decision(Self.facts(Self.coins), nil, [policy]) == .open)
    policy.environments = [.sandbox]
    #expect(Self.decision(Self.facts(Self.renewal), nil, [policy]) == .open)
  }

  @Test func `a policy that needs what the backend said matches only where it was said`() {
    var word = RefundWord(
      customerConsented: true, delivery: .serverOutage, sampleContentProvided: false)
    let facts = Self.facts(Self.coins)
    let outage = ConsumptionInformation(
      .serverOutage, sampleContentProvided: false, preference: .full)
    #expect(Self.decision(facts, word) == .send(outage, policy: "not delivered", refusals: []))
    (word.delivery, word.consumptionPercentage) = (.delivered, 100_000)
    let used = ConsumptionInformation(
      .delivered, sampleContentProvided: false, consumptionPercentage: 100_000,
      preference: .decline)
    #expect(Self.decision(facts, word) == .send(used, policy: "used up", refusals: []))
    // Without a sample it is not known what to send.
    word.sampleContentProvided = nil
    #expect(Self.decision(facts, word) == .withhold(.silent(policy: "else")))
  }

  @Test func `the preference of the backend wins over every policy`() {
    var word = RefundWord(
      customerConsented: true, delivery: .delivered, sampleContentProvided: false,
      preference: .decline)
    let decline = ConsumptionInformation(
      .delivered, sampleContentProvided: false, preference: .decline)
    #expect(
      Self.decision(Self.facts(Self.renewal), word) == .send(decline, policy: nil, refusals: []))
    word.preference = .silent
    #expect(Self.decision(Self.facts(Self.renewal), word) == .withhold(.silent(policy: nil)))
    // Nor does a policy decide for it where it did not say what to send.
    word = RefundWord(customerConsented: true, preference: .decline)
    #expect(Self.decision(Self.facts(Self.renewal), word) == .open)
  }

  @Test func `what the backend said is sent without a preference if no policy matches`() {
    let word = RefundWord(
      customerConsented: true, delivery: .wrongItem, sampleContentProvided: true)
    let plain = ConsumptionInformation(.wrongItem, sampleContentProvided: true)
    #expect(
      Self.decision(Self.facts(Self.coins), word, []) == .send(plain, policy: nil, refusals: []))
  }

  @Test func `a policy never contradicts what the backend said`() {
    let word = RefundWord(
      customerConsented: true, delivery: .qualityIssue, sampleContentProvided: false)
    let sent = ConsumptionInformation(
      .qualityIssue, sampleContentProvided: false, preference: .full)
    #expect(
      Self.decision(Self.facts(Self.renewal), word)
        == .send(sent, policy: "renewal by surprise", refusals: []))
  }

  @Test func `a policy waits for the backend as long as it says`() {
    var policy = Self.policies[0]
    policy.waitSeconds = 3 * 3600
    let facts = Self.facts(Self.renewal)
    let end = Self.asked + 3 * Self.hour
    #expect(Self.decision(facts, nil, [policy]) == .wait(until: end))
    let sent = RefundDecision.send(Self.full, policy: policy.name, refusals: [])
    #expect(Self.decision(facts, nil, [policy], after: 3 * Self.hour) == sent)
    #expect(Self.decision(facts, RefundWord(customerConsented: true), [policy]) == sent)
  }

  // MARK: Consent

  @Test func `nothing is sent without consent, and the newest word of it counts`() {
    let word = { RefundWord(customerConsented: $0) }
    let refused = RefundDecision.withhold(.noConsent)
    let sent = RefundDecision.send(Self.full, policy: "renewal by surprise", refusals: [])
    #expect(Self.decision(Self.facts(Self.renewal, consent: false)) == refused)
    #expect(Self.decision(Self.facts(Self.renewal, consent: false), word(true)) == sent)
    #expect(Self.decision(Self.facts(Self.renewal), word(false)) == refused)
    var withdrawn = Self.facts(Self.renewal)
    withdrawn.consent = (false, Self.asked + Self.hour + 1)
    #expect(Self.decision(withdrawn, word(true)) == refused)
    withdrawn.consent = (false, Self.asked + Self.hour)
    #expect(Self.decision(withdrawn, word(true)) == refused, "said at once, neither is a consent")
    withdrawn.consent = (true, Self.asked + Self.hour)
    #expect(Self.decision(withdrawn, word(false)) == refused)
  }

  @Test func `who never said anything of consent is waited for, and then there is none`() {
    let facts = Self.facts(Self.renewal, consent: nil)
    let last = 12 * Self.hour - 300_000
    #expect(Self.decision(facts) == .wait(until: Self.asked + last))
    #expect(Self.decision(facts, after: last) == .withhold(.noConsent))
  }

  // MARK: What is sent

  @Test func `the share of a non-renewing purchase is that of its duration`() {
    var policy = RefundPolicy("share", .prorated)
    (policy.delivery, policy.sample) = (.delivered, false)
    let season = Self.purchase(ProductType.nonRenewing, "season.pass", hoursAgo: 24 * 9)
    var facts = Self.facts(season)
    func sent() -> ConsumptionInformation? {
      guard case .send(let information, _, _) = Self.decision(facts, nil, [policy]) else {
        return nil
      }
      return information
    }
    #expect(sent()?.consumptionPercentage == nil && sent()?.preference == nil)
    facts.duration = ProductDuration(milliseconds: 90 * 24 * Self.hour)
    #expect(sent()?.consumptionPercentage == 10_000 && sent()?.preference == .prorated)
    facts.duration = ProductDuration(milliseconds: 24 * Self.hour)
    #expect(sent()?.consumptionPercentage == 100_000 && sent()?.preference == .decline)
    facts.transaction.purchaseDate = .min
    #expect(sent()?.consumptionPercentage == 100_000)
    facts.transaction.purchaseDate = .max
    #expect(sent()?.consumptionPercentage == 0 && sent()?.preference == .full)
    facts.transaction.type = ProductType.consumable
    #expect(sent()?.consumptionPercentage == nil)
    facts.transaction.type = ProductType.nonRenewing
    policy.delivery = .qualityIssue
    #expect(sent()?.consumptionPercentage == nil)
  }

  @Test func `what Apple's rules refuse is named, and the next best is sent`() {
    let word = RefundWord(
      customerConsented: true, delivery: .delivered, sampleContentProvided: true,
      consumptionPercentage: 40_000, preference: .prorated)
    var sent = ConsumptionInformation(
      .delivered, sampleContentProvided: true, preference: .prorated)
    #expect(
      Self.decision(Self.facts(Self.renewal), word)
        == .send(sent, policy: nil, refusals: [.renewablePercentage]))
    sent.consumptionPercentage = 40_000
    #expect(Self.decision(Self.facts(Self.coins), word) == .send(sent, policy: nil, refusals: []))
    var shared = Self.coins
    shared.inAppOwnershipType = "FAMILY_SHARED"
    #expect(Self.decision(Self.facts(shared), word) == .withhold(.rule(.familyShared)))
  }

  @Test func `a request that is settled stays so`() {
    let statements: [RefundStatement.Content] = [
      .withheld(.noConsent), .sending(Self.full, policy: nil),
      .answered(NotificationUUID(high: 2, low: 1), .accepted),
    ]
    let facts = Self.facts(Self.renewal)
    for count in [1, 3] {
      let request = Self.request(
        Self.renewal, statements.prefix(count).map { ($0, Self.hour) })
      #expect(
        RefundDecision(on: request, facts, Self.policies, at: Self.asked + 2 * Self.hour) == .open)
      #expect(RefundDecision(on: request, facts, Self.policies, at: nil) != .open)
    }
    let late = RefundDecision(
      on: Self.request(Self.renewal), facts, Self.policies, at: Self.asked + 12 * Self.hour)
    #expect(late == .open, "the deadline is over")
  }

  // MARK: Properties

  /// Of all that is decided by chance.
  @Test func `nothing that Apple's rules refuse is sent, and nothing without consent`() {
    var chance = SplitMix64(seed: TestSeed.number(usual: 20_261_130))
    var counts: [String: Int] = [:]
    for _ in 0..<TestCount.histories.number * 20 {
      let made = RandomRefund(&chance)
      let now = RandomRefund.asked + chance.below(13) * Self.hour
      let decision = RefundDecision(on: made.request, made.facts, made.policies, at: now)
      counts["\(decision)".prefix { $0 != "(" }.description, default: 0] += 1
      guard case .send(let information, let policy, _) = decision else { continue }
      let word = made.request.word
      #expect(information.refusal(for: made.facts.transaction) == nil)
      #expect(made.facts.consent?.isGranted ?? false || word?.customerConsented ?? false)
      #expect(now < made.request.deadline)
      #expect(word?.delivery ?? information.delivery == information.delivery)
      #expect(word?.preference == nil || policy == nil)
      let after = RefundDecision(on: made.request, made.facts, made.policies, at: nil)
      #expect(after == decision, "time alone changes nothing of what is sent")
    }
    #expect(counts.count == 4 && counts.values.allSatisfy { $0 > 100 }, "\(counts)")
  }
}
