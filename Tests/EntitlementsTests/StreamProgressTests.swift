import AppStore
import Entitlements
import Support
import Testing

/// The incremental evaluation gives the answers of a whole evaluation, in less than quadratic time.
@Suite(.serialized) struct StreamProgressTests {
  /// More transactions than in other histories: most in sequence, some late, some revoked.
  private static func many(_ chance: inout SplitMix64) -> [FoldEvent] {
    var events: [FoldEvent] = []
    let rounds = chance.below(5) + 1
    // A stream with a one-time product is always evaluated whole.
    let isEndless = chance.once(in: 6)
    for round in 0..<rounds {
      for var event in RandomHistory.mixed(&chance) {
        let shift = chance.once(in: 5) ? chance.below(9) : round
        event.signedDate += shift * 21 * TestDate.day
        for index in event.transactions.indices {
          var transaction = event.transactions[index]
          if chance.once(in: 2) { transaction.transactionId += "\(round)" }
          transaction.signedDate += shift * 21 * TestDate.day
          let moved = shift * 21 * TestDate.day
          transaction.purchaseDate += moved
          transaction.expiresDate = transaction.expiresDate.map { $0 + moved }
          transaction.revocationDate = transaction.revocationDate.map { $0 + moved }
          if !isEndless, transaction.expiresDate == nil {
            transaction.expiresDate = transaction.purchaseDate + 28 * TestDate.day
          }
          if chance.once(in: 3) { transaction.transactionReason = "RENEWAL" }
          event.transactions[index] = transaction
        }
        event.seq = Int64(events.count + 1)
        events.append(event)
      }
    }
    return events
  }

  /// Short periods, as the sandbox makes them: one after the other, overlapping, bought at once,
  /// charged ahead, refunded from a time on or from the start, given back, one purchase under
  /// several ids, some that do not expire, and some events late.
  private static func short(_ chance: inout SplitMix64) -> [FoldEvent] {
    let minute: Int64 = 60_000
    let lengths = ([5, 5, 30, 1440, 1441, 43_200] as [Int64]).map { $0 * minute }
    let steps = ([0, 1, 5, 5, 6, 60, 780] as [Int64]).map { $0 * minute }
    let isOneTime = chance.once(in: 5)
    let items = chance.pick([nil, nil, 1, 3, 40] as [Int64?])
    let (step, length) = (chance.pick(steps), chance.pick(lengths))
    let usual: String? = chance.pick(["RENEWAL", "RENEWAL", "PURCHASE", nil])
    var told: [Transaction] = []
    var clock = RandomHistory.start
    return (0..<chance.below(50) + 2).map { number in
      var transaction = Transaction()
      clock += chance.once(in: 3) ? chance.pick(steps) : step
      if let known = told.last, chance.once(in: 3) {
        transaction = chance.once(in: 2) ? known : chance.pick(told)
        transaction.revocationDate =
          chance.once(in: 4) ? nil : chance.once(in: 4) ? transaction.purchaseDate : clock
        if chance.once(in: 9) { transaction.isUpgraded = true }
        if chance.once(in: 9) { transaction.webOrderLineItemId = "7" }
        if chance.once(in: 9) { transaction.expiresDate = clock }
      } else {
        transaction.transactionId = "\(1000 + number)"
        transaction.productId = chance.pick(["basic", "pro"])
        transaction.purchaseDate = clock + (chance.once(in: 6) ? chance.pick(lengths) : 0)
        let expires =
          transaction.purchaseDate + (chance.once(in: 4) ? chance.pick(lengths) : length)
        transaction.expiresDate = isOneTime && chance.once(in: 2) ? nil : expires
        transaction.transactionReason =
          chance.once(in: 4) ? chance.pick(["RENEWAL", "PURCHASE", nil]) : usual
        transaction.webOrderLineItemId = items.map { "\(chance.below($0) + 1)" }
        transaction.isUpgraded = chance.once(in: 20)
        told.append(transaction)
      }
      let signed = clock - (chance.once(in: 5) ? chance.pick(steps) : 0)
      transaction.signedDate = signed
      var event = FoldEvent(
        seq: number + 1, uuid: NotificationUUID(high: 1, low: UInt64(number)),
        notificationType: chance.once(in: 6) ? "REFUND_REVERSED" : "DID_RENEW", subtype: nil,
        signedDate: signed, source: chance.once(in: 8) ? .v1 : .v2,
        status: chance.pick([nil, 1, 1, 4]), transactions: [transaction])
      if chance.once(in: 8) { event.transactions += told.suffix(9) }
      if chance.once(in: 3) {
        var renewal = RenewalInfo()
        renewal.signedDate = signed
        renewal.autoRenewStatus = 1
        renewal.renewalDate = chance.pick(told).expiresDate
        renewal.isInBillingRetryPeriod = chance.once(in: 2)
        renewal.gracePeriodExpiresDate =
          chance.once(in: 2) ? (renewal.renewalDate ?? clock) + chance.pick(lengths) : nil
        event.renewal = renewal
      }
      return event
    }
  }

  /// The same in the sandbox, where a renewal is charged a thirtieth of its period ahead: some
  /// begin, or are signed, next to that time.
  private static func sandbox(_ chance: inout SplitMix64) -> [FoldEvent] {
    let thirtieths = ([10, 60, 2880] as [Int64]).map { $0 * 1000 }
    return short(&chance).map { event in
      var event = event
      event.environment = .sandbox
      for index in event.transactions.indices {
        let ahead = chance.pick(thirtieths) + chance.below(3) - 1
        event.transactions[index].purchaseDate += chance.pick([0, 0, 0, ahead, -ahead])
        event.transactions[index].signedDate -= chance.pick([0, 0, ahead])
        event.transactions[index].price = 1000
        event.transactions[index].currency = "EUR"
      }
      return event
    }
  }

  /// The same with seats, which some have from the start and some later: bought, added, refunded.
  private static func seats(_ chance: inout SplitMix64) -> [FoldEvent] {
    let (from, share) = (chance.once(in: 2) ? 0 : chance.below(20), chance.below(4) + 1)
    return (chance.once(in: 2) ? sandbox(&chance) : short(&chance)).map { event in
      var event = event
      for index in event.transactions.indices
      where event.seq >= from && chance.once(in: share) {
        var info = SeatInfo()
        info.revokedSeatQuantity = chance.pick([nil, nil, 0, 1, 2, 9])
        event.transactions[index].multiSeatInfo = chance.once(in: 9) ? nil : info
        event.transactions[index].quantity = chance.below(5) + 1
        if event.transactions[index].transactionReason != "RENEWAL", chance.once(in: 2) {
          event.transactions[index].transactionReason = "PURCHASE"
          event.transactions[index].additionalTransactionReason = "SEAT_ADDITION"
        }
      }
      return event
    }
  }

  /// What differs in the lines of the last event's purchases, of what history shows.
  private static func lineFault(_ progress: StreamProgress, _ last: FoldEvent?) -> String? {
    let lines = progress.state.lines(of: key)
    let columns = [
      "transaction_id", "ended_at", "is_upgraded", "revoked_at", "refunded_milliunits",
    ]
    for id in last?.transactions.map(\.transactionId) ?? [] {
      let line = progress.line(about: id, of: key)
      let whole = lines.first { $0.isAbout(id) }
      if let column = columns.first(where: { line?[$0] != whole?[$0] }) {
        return "\(column) of \(id)"
      }
    }
    return nil
  }

  private static func fault(_ events: [FoldEvent], _ durations: Durations) -> String? {
    var progress = StreamProgress()
    var state = StreamState()
    var clock = Int64.min
    for event in events {
      let passed = EntitlementRow(state).transitions(
        after: clock, through: max(clock, event.signedDate), durations: durations)
      clock = max(clock, event.signedDate)
      let before = Entitlement(state, at: clock, durations: durations)
      let (answer, transitions) = progress.advance(to: clock, durations: durations)
      if answer != before { return "before #\(event.seq)" }
      if transitions.map(\.after) != passed { return "until #\(event.seq)" }
      state.evolve(event)
      progress.evolve(event)
      let after = Entitlement(state, at: clock, durations: durations)
      let found = progress.entitlement(at: clock, durations: durations)
      if found != after {
        return
          "after #\(event.seq): \(found?.summary ?? "none") and not \(after?.summary ?? "none")"
      }
    }
    return progress.state == state ? lineFault(progress, events.last) : "the states differ"
  }

  @Test func `incremental answers equal those of the whole state`() {
    let histories = TestCount.histories.number / 4
    Property(histories: histories, make: Self.many).holds("incremental answers") { events, chance in
      Self.fault(events, chance.once(in: 2) ? ["season": 10 * TestDate.day] : [:])
    }
    for make in [RandomHistory.mixed, Self.short, Self.sandbox, Self.seats] {
      Property(histories: histories, make: make).holds("few or short") { events, _ in
        Self.fault(events, [:])
      }
    }
  }

  /// The newest was upgraded to something unknown: Apple's renewal date is compared with the end of
  /// no period of its own.
  @Test func `a renewal date at which a past period ended is no gap`() {
    let spans = [(0, 30), (30, 60), (90, 120)] as [(Int64, Int64)]
    let events = spans.enumerated().map { index, days in
      var transaction = Transaction()
      transaction.transactionId = "\(1000 + index)"
      transaction.purchaseDate = days.0 * TestDate.day
      transaction.expiresDate = days.1 * TestDate.day
      transaction.revocationDate = index == 2 ? 100 * TestDate.day : nil
      transaction.transactionReason = index == 1 ? "RENEWAL" : "PURCHASE"
      transaction.isUpgraded = index == 2
      transaction.signedDate = (index == 2 ? 130 : days.0) * TestDate.day
      var renewal = RenewalInfo()
      renewal.renewalDate = 60 * TestDate.day
      renewal.signedDate = transaction.signedDate
      return FoldEvent(
        seq: Int64(index), uuid: NotificationUUID(high: 1, low: UInt64(index)),
        notificationType: "DID_RENEW", subtype: nil, signedDate: transaction.signedDate, status: 1,
        transactions: [transaction], renewal: renewal)
    }
    #expect(Self.fault(events, [:]) == nil)
    #expect(Entitlement(folded(events), at: 130 * TestDate.day)?.hasGap == false)
  }

  private static let key = StreamKey(
    environment: .production, bundleId: "com.example", originalTransactionId: "1000")

  private enum Kind: CaseIterable {
    case renewed, early, bought, withoutReason, flips, late
    /// Periods of five minutes: at one go, each with its refund, for ever, of one purchase.
    case short, overlapping, boughtTogether, refunded, voided, oneTime, twins, sandbox
  }

  /// Half of them refunds where there are refunds.
  private static func events(_ count: Int64, _ kind: Kind) -> [FoldEvent] {
    switch kind {
    case .short, .overlapping, .boughtTogether, .oneTime, .sandbox: shortEvents(count, kind)
    case .refunded, .voided, .twins:
      shortEvents(count / 2, kind).flatMap { event in
        var refund = event
        refund.signedDate += 30_000
        refund.uuid = NotificationUUID(high: 2, low: UInt64(event.seq))
        let date = kind == .voided ? event.transactions[0].purchaseDate : refund.signedDate
        refund.transactions[0].revocationDate = date
        refund.transactions[0].signedDate = refund.signedDate
        return [event, refund]
      }
    default: longEvents(count, kind)
    }
  }

  private static func shortEvents(_ count: Int64, _ kind: Kind) -> [FoldEvent] {
    (0..<count).map { index in
      let minute: Int64 = 60_000
      var transaction = Transaction()
      transaction.transactionId = "\(1000 + index)"
      transaction.productId = "basic"
      transaction.webOrderLineItemId = kind == .twins ? "7" : "\(index + 1)"
      let step = kind == .short || kind == .sandbox ? 5 * minute : minute
      transaction.purchaseDate = index * step
      transaction.signedDate = transaction.purchaseDate - (kind == .sandbox ? 5000 : 0)
      transaction.expiresDate =
        kind == .oneTime ? nil : transaction.purchaseDate + 5 * minute
      let isBought = index == 0 || kind == .oneTime || kind == .boughtTogether
      transaction.transactionReason = isBought ? "PURCHASE" : "RENEWAL"
      return FoldEvent(
        seq: index, uuid: NotificationUUID(high: 1, low: UInt64(index)),
        notificationType: "DID_RENEW", subtype: nil, signedDate: transaction.signedDate,
        environment: kind == .sandbox ? .sandbox : .production, transactions: [transaction])
    }
  }

  private static func longEvents(_ count: Int64, _ kind: Kind) -> [FoldEvent] {
    (0..<count).map { index in
      // Late: every second event arrives after the one that follows it.
      let number = kind == .late ? min(count - 1, index ^ 1) : index
      let step = 30 * TestDate.day
      var transaction = Transaction()
      transaction.transactionId = kind == .flips ? "1000" : "\(1000 + number)"
      transaction.productId = "basic"
      transaction.purchaseDate = kind == .flips ? 0 : number * step
      transaction.expiresDate = transaction.purchaseDate + 30 * TestDate.day
      let signed = number * step - (kind == .early ? TestDate.day / 2 : 0)
      transaction.signedDate = signed
      transaction.transactionReason =
        kind == .withoutReason ? nil : kind == .bought || number == 0 ? "PURCHASE" : "RENEWAL"
      return FoldEvent(
        seq: index, uuid: NotificationUUID(high: 1, low: UInt64(number)),
        notificationType: "DID_RENEW", subtype: nil, signedDate: signed,
        transactions: [transaction])
    }
  }

  private static func seconds(_ events: [FoldEvent]) -> Double {
    processorSeconds {
      var progress = StreamProgress()
      var clock = Int64.min
      for event in events {
        clock = max(clock, event.signedDate)
        _ = progress.advance(to: clock)
        progress.evolve(event)
        _ = progress.entitlement(at: clock)
        if event.transactions[0].revocationDate != nil {
          _ = progress.line(about: event.transactions[0].transactionId, of: key)
        }
      }
    }
  }

  /// For 8 times the events linear work is 8 times, quadratic work 64 times. The least of three
  /// runs, because other tests share caches and processors.
  @Test func `eight times the events take less than twelve times as long`() {
    for kind in Kind.allCases {
      let (few, many) = (Self.events(250, kind), Self.events(2000, kind))
      let runs = (0..<3).map { _ in (few: Self.seconds(few), many: Self.seconds(many)) }
      let least = (few: runs.map(\.few).min() ?? 0, many: runs.map(\.many).min() ?? 0)
      #expect(least.many < 12 * least.few, "\(kind): 250 and 2,000 in \(least) s")
    }
  }
}
