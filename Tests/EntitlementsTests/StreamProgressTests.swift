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

  private static func fault(_ events: [FoldEvent], _ durations: [String: Int64]) -> String? {
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
      if transitions.map(\.after.summary) != passed.map(\.summary) { return "until #\(event.seq)" }
      state.evolve(event)
      progress.evolve(event)
      let after = Entitlement(state, at: clock, durations: durations)
      let found = progress.entitlement(at: clock, durations: durations)
      if found != after {
        return
          "after #\(event.seq): \(found?.summary ?? "none") and not \(after?.summary ?? "none")"
      }
    }
    return progress.state == state ? nil : "the states differ"
  }

  @Test func `incremental answers equal those of the whole state`() {
    Property(make: Self.many).holds("incremental answers") { events, chance in
      Self.fault(events, chance.once(in: 2) ? ["season": 10 * TestDate.day] : [:])
    }
    Property(make: RandomHistory.mixed).holds("incremental answers, few") { events, _ in
      Self.fault(events, [:])
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

  private enum Kind: CaseIterable {
    case renewed, early, bought, withoutReason, flips, late
  }

  private static func events(_ count: Int64, _ kind: Kind) -> [FoldEvent] {
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
        _ = progress.entitlement(at: clock)
        progress.evolve(event)
        _ = progress.entitlement(at: clock)
      }
    }
  }

  /// For 4 times the events linear work is 4 times, quadratic work 16 times.
  @Test func `four times the events take less than nine times as long`() {
    for kind in Kind.allCases {
      let few = Self.seconds(Self.events(150, kind))
      let many = Self.seconds(Self.events(600, kind))
      #expect(many < 9 * few, "\(kind): 150 in \(few) s, 600 in \(many) s")
    }
  }
}
