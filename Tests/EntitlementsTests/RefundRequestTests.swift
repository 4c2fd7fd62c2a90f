import AppStore
import Entitlements
import Support
import Testing

/// Requests for refunds as they are folded from events.
@Suite struct RefundRequestTests {
  private static let hour: Int64 = 3_600_000
  private static let start: Int64 = 1_790_000_000_000

  /// One of Apple's events about a purchase, at an hour after the start.
  private static func event(
    _ number: UInt64, _ type: String, _ id: String = "1", at hours: Int64, item: String? = nil,
    received: Int64? = nil, source: EventSource = .v2,
    _ change: (inout Transaction) -> Void = { _ in }
  ) -> [RefundEvent] {
    var transaction = Transaction()
    (transaction.transactionId, transaction.webOrderLineItemId) = (id, item)
    change(&transaction)
    let event = FoldEvent(
      seq: 1, uuid: NotificationUUID(high: 7, low: number), notificationType: type, subtype: nil,
      signedDate: start + hours * hour, source: source, transactions: [transaction],
      consumptionRequestReason: type == "CONSUMPTION_REQUEST" && source == .v2 ? "LEGAL" : nil)
    return RefundEvent.all(in: event, receivedAt: start + (received ?? hours) * hour)
  }

  /// A statement about the request with a number.
  private static func statement(
    _ number: UInt64, _ content: RefundStatement.Content, about request: UInt64 = 1,
    at hours: Int64
  ) -> [RefundEvent] {
    [
      RefundEvent(
        RefundStatement(content, about: NotificationUUID(high: 7, low: request)),
        uuid: NotificationUUID(high: 8, low: number), at: start + hours * hour)
    ]
  }

  private static let opened = event(1, "CONSUMPTION_REQUEST", at: 0)
  private static let information = ConsumptionInformation(.delivered, sampleContentProvided: true)

  private static func one(_ events: [RefundEvent]) throws -> RefundRequest {
    let requests = RefundRequest.all(of: events)
    #expect(requests.count == 1)
    return try #require(requests.first)
  }

  private static func state(_ request: RefundRequest, _ hours: Int64) -> RefundRequest.State {
    request.state(at: start + hours * hour)
  }

  // MARK: Apple's events

  @Test func `a request waits for twelve hours after it was received or signed`() throws {
    let request = try Self.one(Self.opened)
    #expect(request.deadline == Self.start + 12 * Self.hour && request.reason == "LEGAL")
    #expect(Self.state(request, 11) == .waiting && Self.state(request, 12) == .missed)
    let late = try Self.one(Self.event(1, "CONSUMPTION_REQUEST", at: 0, received: 5))
    #expect(late.deadline == Self.start + 12 * Self.hour)
    let ahead = try Self.one(Self.event(1, "CONSUMPTION_REQUEST", at: 3, received: 0))
    #expect(ahead.deadline == Self.start + 12 * Self.hour)
  }

  @Test func `an outcome closes a request that nobody answered`() throws {
    let refund = Self.event(2, "REFUND", at: 5) {
      ($0.revocationType, $0.revocationPercentage) = ("REFUND_PRORATED", 40_000)
    }
    let request = try Self.one(Self.opened + refund)
    #expect(request.outcome == .refunded(type: "REFUND_PRORATED", percentage: 40_000))
    #expect(Self.state(request, 6) == .closed && request.outcomeAt == Self.start + 5 * Self.hour)
    let late = try Self.one(Self.opened + Self.event(2, "REFUND_DECLINED", at: 13))
    #expect(late.outcome == .declined && Self.state(late, 14) == .missed)
    let reversed = try Self.one(
      Self.opened + refund + Self.event(3, "REFUND_REVERSED", at: 900))
    #expect(reversed.outcome == .reversed && reversed.outcomeAt == Self.start + 5 * Self.hour)
  }

  @Test func `a second request after a decline is a new one, and an outcome is its own`() {
    let events =
      Self.opened + Self.event(2, "REFUND_DECLINED", at: 20)
      + Self.event(3, "CONSUMPTION_REQUEST", at: 100) + Self.event(4, "REFUND", at: 110)
    let requests = RefundRequest.all(of: events)
    #expect(requests.map(\.outcome) == [.declined, .refunded(type: nil, percentage: nil)])
    #expect(requests.map(\.openedAt) == [Self.start, Self.start + 100 * Self.hour])
    let before = RefundRequest.all(of: events, knownAt: Self.start + 109 * Self.hour)
    #expect(before.map(\.outcome) == [.declined, nil])
    let alone = RefundRequest.all(of: Array(events.prefix(2)) + Self.event(4, "REFUND", at: 110))
    #expect(alone.map(\.outcome) == [.declined], "a refund without a request is none of this one")
  }

  @Test func `several ids of one purchase are one, whichever event names it`() throws {
    let refund = Self.event(2, "REFUND", "2", at: 5, item: "77")
    #expect(try Self.one(Self.opened + refund).outcome == nil)
    let named = Self.event(3, "REFUND_DECLINED", "9", at: 1, item: "88")
    for link in [
      Self.event(1, "CONSUMPTION_REQUEST", at: 0, item: "77"),
      Self.opened + Self.event(5, "REFUND_REVERSED", "1", at: -9, item: "77"),
    ] {
      let request = try Self.one(link + refund + named)
      #expect(request.outcome == .refunded(type: nil, percentage: nil))
      #expect(request.transactionId == "1")
    }
    // Products that are no subscription have no item.
    let other = Self.event(2, "REFUND", "2", at: 5, item: "0")
    let zero = Self.event(1, "CONSUMPTION_REQUEST", at: 0, item: "0")
    #expect(try Self.one(zero + other).outcome == nil)
  }

  @Test func `a refund is also told by a purchase that is revoked`() throws {
    let revoked = Self.start + 6 * Self.hour
    let evidence = { (type: String?, ownership: String?) in
      Self.event(2, "TRANSACTION_INFO", at: 90, source: .transaction) {
        ($0.revocationDate, $0.revocationType) = (revoked, type)
        $0.inAppOwnershipType = ownership
      }
    }
    let request = try Self.one(Self.opened + evidence(nil, "PURCHASED"))
    #expect(request.outcome != nil && request.outcomeAt == revoked)
    for other in [evidence("FAMILY_REVOKE", nil), evidence(nil, "FAMILY_SHARED")] {
      #expect(try Self.one(Self.opened + other).outcome == nil)
    }
  }

  @Test func `version 1 has no reason, and after 48 hours no outcome is told`() throws {
    let opened = Self.event(1, "CONSUMPTION_REQUEST", at: -500, received: 0, source: .v1)
    let request = try Self.one(opened)
    #expect(request.isV1 && request.reason == nil && request.openedAt == Self.start)
    func shown(_ request: RefundRequest, at time: Int64) -> FieldValue {
      let key = StreamKey(environment: .production, bundleId: "a", originalTransactionId: "1")
      return RefundLine(key, request, StreamState(), []).shown(at: time)["outcome"]
    }
    #expect(shown(request, at: Self.start + 48 * Self.hour - 1) == .none)
    #expect(shown(request, at: Self.start + 48 * Self.hour) == .text("untold"))
    #expect(shown(try Self.one(Self.opened), at: .max) == .none)
    let refund = Self.event(2, "REFUND", at: 3, received: 60, source: .v1) {
      $0.revocationDate = Self.start + 3 * Self.hour
    }
    let refunded = try Self.one(opened + refund)
    #expect(shown(refunded, at: .max) == .text("refunded"))
  }

  // MARK: Statements

  @Test func `what was sent is answered, refused or sent again`() throws {
    let sending = { Self.statement($0, .sending(Self.information, policy: "p"), at: $1) }
    let answer = { (number: UInt64, to: UInt64, answer: RefundStatement.Answer, at: Int64) in
      Self.statement(
        number, .answered(NotificationUUID(high: 8, low: to), answer), at: at)
    }
    var events = Self.opened + sending(1, 1)
    #expect(Self.state(try Self.one(events), 2) == .waiting)
    events += answer(2, 1, .failed, 2)
    #expect(Self.state(try Self.one(events), 3) == .waiting)
    #expect(Self.state(try Self.one(events), 12) == .missed)
    let refused = events + sending(3, 4) + answer(4, 3, .refused(code: 4_000_035), 5)
    #expect(Self.state(try Self.one(refused), 20) == .refused)
    let word = Self.statement(5, .said(RefundWord(customerConsented: true)), at: 6)
    let again = try Self.one(refused + word)
    #expect(Self.state(again, 7) == .waiting && again.word != nil)
    let answered = try Self.one(
      refused + word + sending(6, 7) + answer(7, 6, .accepted, 7)
        + Self.event(9, "REFUND_DECLINED", at: 8))
    #expect(Self.state(answered, 8) == .answered && answered.outcome == .declined)
    #expect(answered.sendings.map(\.answer) == [.failed, .refused(code: 4_000_035), .accepted])
    // What was said while Apple refused something else is not refused.
    let between = Self.statement(5, .said(RefundWord(customerConsented: true)), at: 4)
    let crossed = Self.opened + sending(3, 3) + between + answer(4, 3, .refused(code: nil), 5)
    #expect(Self.state(try Self.one(crossed), 6) == .waiting)
  }

  @Test func `a kill before the answer leaves two sendings, and one request`() throws {
    let sending = { Self.statement($0, .sending(Self.information, policy: nil), at: $1) }
    let accepted = Self.statement(
      3, .answered(NotificationUUID(high: 8, low: 2), .accepted), at: 2)
    let request = try Self.one(Self.opened + sending(1, 1) + sending(2, 2) + accepted)
    #expect(request.sendings.map(\.answer) == [nil, .accepted])
    #expect(Self.state(request, 3) == .answered)
  }

  @Test func `nothing is sent until something new is said`() throws {
    let withheld = Self.statement(1, .withheld(.noConsent), at: 1)
    let request = try Self.one(Self.opened + withheld)
    #expect(Self.state(request, 99) == .declinedToAnswer && request.withholding == .noConsent)
    let word = Self.statement(2, .said(RefundWord(customerConsented: true)), at: 2)
    let reopened = try Self.one(Self.opened + withheld + word)
    #expect(Self.state(reopened, 3) == .waiting && reopened.withholding == nil)
    // A clock that is behind Apple's, and a request that is not known.
    let early = try Self.one(Self.opened + Self.statement(1, .withheld(.noConsent), at: -1))
    #expect(Self.state(early, 1) == .declinedToAnswer)
    #expect(RefundRequest.all(of: withheld).isEmpty)
  }

  @Test func `it is sent again after 5 and 15 minutes, then hourly, and last before the deadline`()
    throws
  {
    var (events, minutes) = (Self.opened, [Int64]())
    var now = Self.start + 7 * Self.hour
    for number in 1...20 {
      guard let next = try Self.one(events).nextTry(at: now) else { break }
      #expect(next >= now)
      now = next
      minutes.append((now - Self.start) / 60_000)
      events.append(
        RefundEvent(
          RefundStatement(
            .sending(Self.information, policy: nil), about: NotificationUUID(high: 7, low: 1)),
          uuid: NotificationUUID(high: 8, low: UInt64(number)), at: now))
    }
    #expect(minutes == [420, 425, 440, 500, 560, 620, 680, 715])
    let untried = try Self.one(Self.opened)
    #expect(untried.nextTry(at: untried.deadline - 1) == untried.deadline - 1)
    #expect(untried.nextTry(at: untried.deadline) == nil)
  }

  // MARK: Properties

  /// Events of some purchases, of which two ids are one.
  private static func history(_ chance: inout SplitMix64) -> [RefundEvent] {
    var events: [RefundEvent] = []
    for number in 1...UInt64(chance.below(9) + 2) {
      let type = chance.pick([
        "CONSUMPTION_REQUEST", "CONSUMPTION_REQUEST", "REFUND", "REFUND_DECLINED",
        "REFUND_REVERSED", "DID_RENEW",
      ])
      let isV1 = chance.once(in: 4) && !type.hasPrefix("REFUND_")
      let (id, item) = chance.pick(
        [("1", "77"), ("1", nil), ("2", "77"), ("3", nil), ("3", "0")] as [(String, String?)])
      let hours = chance.below(40)
      let revoked = type == "REFUND" || chance.once(in: 5)
      events += event(
        number, type, id, at: hours, item: item, received: hours + chance.pick([0, 0, 1, 30]),
        source: isV1 ? .v1 : .v2
      ) { transaction in
        if revoked { transaction.revocationDate = start + hours * hour }
      }
    }
    for number in 1...UInt64(chance.below(8) + 1) {
      let content: RefundStatement.Content = chance.pick([
        .said(RefundWord(customerConsented: chance.once(in: 2))), .withheld(.noConsent),
        .sending(information, policy: "p"), .sending(information, policy: nil),
        .answered(
          NotificationUUID(high: 8, low: UInt64(chance.below(8))),
          chance.pick([.accepted, .refused(code: 1), .failed])),
      ])
      events += statement(
        number, content, about: UInt64(chance.below(6)) + 1, at: chance.below(40))
    }
    return events
  }

  @Test func `each thing that becomes of a request is told once`() throws {
    let steps: [([RefundEvent], [RefundNews])] = [
      (Self.opened, [.opened]),
      (Self.statement(1, .reached(.due), at: 9), [.due]),
      (Self.statement(2, .sending(Self.information, policy: "p"), at: 10), []),
      (Self.statement(3, .answered(NotificationUUID(high: 8, low: 2), .failed), at: 10), []),
      (Self.statement(4, .sending(Self.information, policy: "p"), at: 11), []),
      (
        Self.statement(5, .answered(NotificationUUID(high: 8, low: 4), .accepted), at: 11),
        [.answered]
      ),
      (Self.statement(6, .reached(.missed), at: 12), [.missed]),
      (Self.event(2, "REFUND", at: 13) { $0.revocationDate = Self.start }, [.closed]),
      (Self.event(3, "REFUND", at: 14) { $0.revocationDate = Self.start }, []),
      (Self.event(4, "REFUND_REVERSED", at: 15), [.closed]),
    ]
    var (events, before): ([RefundEvent], RefundRequest?) = ([], nil)
    for (index, (step, news)) in steps.enumerated() {
      events += step
      let request = try Self.one(events)
      #expect(request.news(since: before) == news, "\(index)")
      before = request
    }
    // All at once, as where the request is received after its outcome.
    #expect(before?.news(since: nil) == RefundNews.allCases)
  }

  private static func eachHistory(
    _ body: ([RefundEvent], inout SplitMix64, UInt64) -> Void
  ) {
    let first = TestSeed.number(usual: 20_261_130)
    for seed in first..<first + UInt64(TestCount.histories.number) {
      var chance = SplitMix64(seed: seed)
      let events = history(&chance)
      body(events, &chance, seed)
    }
  }

  @Test func `any order of arrival, and any repetition, gives the same requests`() {
    Self.eachHistory { events, chance, seed in
      let requests = RefundRequest.all(of: events)
      let more = events + (0..<4).map { _ in chance.pick(events) }
      for _ in 0..<4 {
        #expect(
          RefundRequest.all(of: more.shuffled(using: &chance)) == requests, "seed \(seed)")
      }
    }
  }

  @Test func `what was known at a time follows from what was received by then`() {
    Self.eachHistory { events, chance, seed in
      let time = Self.start + chance.below(45) * Self.hour
      let known = events.filter { $0.receivedAt <= time }
      #expect(
        RefundRequest.all(of: events, knownAt: time) == RefundRequest.all(of: known),
        "seed \(seed)")
    }
  }

  @Test func `each request of Apple's is one, and has at most the outcomes of its own time`() {
    Self.eachHistory { events, _, seed in
      let requests = RefundRequest.all(of: events)
      let asked = events.filter { if case .request = $0.content { true } else { false } }
      #expect(requests.map(\.uuid).sorted() == asked.map(\.uuid).sorted(), "seed \(seed)")
      let one: Set = ["1", "2"]
      // The two ids are one purchase where the first is told with its item.
      let isOne = events.contains { $0.transactionId == "1" && $0.purchaseName != nil }
      for event in asked {
        let others = asked.filter {
          $0.at > event.at
            && ($0.transactionId == event.transactionId
              || isOne && one.isSuperset(of: [$0.transactionId, event.transactionId]))
        }
        let outcomes = events.filter {
          guard case .outcome = $0.content else { return false }
          return $0.at >= event.at && $0.at <= others.map(\.at).min() ?? .max
            && ($0.transactionId == event.transactionId
              || isOne && one.isSuperset(of: [$0.transactionId, event.transactionId]))
        }
        let request = requests.first { $0.uuid == event.uuid }
        #expect(request?.outcome == nil || !outcomes.isEmpty, "seed \(seed)")
        let isNewest = !asked.contains { $0.uuid != event.uuid && $0.at == event.at }
        let own = outcomes.filter { $0.at < others.map(\.at).min() ?? .max }
        if isNewest, !own.isEmpty { #expect(request?.outcome != nil, "seed \(seed)") }
      }
    }
  }
}
