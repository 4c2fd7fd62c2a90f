import AppStore
import Entitlements
import Support
import Testing

/// Properties of histories that Apple could have signed: signed dates ascend, every purchase has
/// its own date, and EXPIRED is signed only when access has ended.
@Suite struct RefundPropertyTests {
  /// Each transaction begins on another day, and each event is signed after those before it.
  private static func orderly(_ chance: inout SplitMix64) -> [FoldEvent] {
    let starts = ["1000": 0, "1001": 5, "1002": 9, "1003": 16] as [String: Int64]
    var events = RandomHistory.wild(&chance)
    for index in events.indices {
      let signed =
        RandomHistory.start + Int64(index) * 6 * TestDate.day + chance.below(TestDate.day)
      events[index].signedDate = signed
      events[index].renewal?.signedDate = signed
      // The status of a grace period, which other events of the same time also have.
      if events[index].subtype == "GRACE_PERIOD", events[index].status != nil {
        events[index].status = 4
      }
      guard var transaction = events[index].transaction else { continue }
      transaction.signedDate = signed
      transaction.purchaseDate =
        RandomHistory.start + (starts[transaction.transactionId] ?? 0) * TestDate.day
      // Only a renewal is signed before it begins.
      if signed < transaction.purchaseDate { transaction.transactionReason = "RENEWAL" }
      events[index].transaction = transaction
    }
    return events
  }

  /// P7.
  @Test func `a refund takes only later access, and its reversal restores that`() {
    Property(make: Self.orderly).holds("P7") { events, chance in
      let state = folded(events)
      let registers = state.transactions.values.sorted { $0.key < $1.key }
      guard !registers.isEmpty else { return nil }
      let transaction = chance.pick(registers).transaction
      // What gives back one of two ids of a purchase gives back the other too.
      let item = transaction.webOrderLineItemId
      let hasRevokedTwin =
        item != nil && item != "0"
        && registers.contains {
          $0.transaction.webOrderLineItemId == item && $0.transaction.revocationDate != nil
        }
      guard !hasRevokedTwin else { return nil }
      let last = events.map(\.signedDate).max() ?? 0
      // Apple's status, while it counts: the refund and its reversal come without renewal info.
      let plain = PlainRow(events: events, t: 0)
      let status = plain.st
      // Told again later, a grace period without a date is that of a later end.
      if status == 4, plain.ri?.gracePeriodExpiresDate == nil { return nil }
      // Told again, a purchase was not upgraded.
      if plain.hasLostUpgrade { return nil }
      // After a refund, a status of 1 is of a purchase that was not told.
      let told = events.filter { $0.status == 1 }.map(\.signedDate).max() ?? .max
      let isRefundedSince = registers.contains { $0.transaction.revocationDate ?? .min > told }
      if status == 1, isRefundedSince { return nil }
      // One of before a purchase says nothing of it, and does so when it is told again.
      if status == 1, registers.contains(where: { $0.transaction.purchaseDate > told }) {
        return nil
      }
      var refund = FoldEvent(
        seq: 100, uuid: NotificationUUID(high: chance.next(), low: 100),
        notificationType: "REFUND", subtype: nil, signedDate: last + chance.below(9) * TestDate.day,
        environment: events[0].environment, status: status == nil ? nil : 5,
        transactions: [transaction])
      let signed = refund.signedDate
      refund.transaction?.signedDate = signed
      refund.transaction?.revocationDate = signed - chance.below(2) * TestDate.day
      let reversal = Self.reversal(of: transaction, after: refund, status: status)
      for time in RandomHistory.clocks(events + [refund, reversal], &chance, count: 8) {
        let (before, after) = (hasAccess(events, time), hasAccess(events + [refund], time))
        if time < refund.transaction?.revocationDate ?? 0, before != after {
          return "the refund changed access at \(time), before its date"
        }
        if transaction.revocationDate == nil, time >= reversal.signedDate,
          before != hasAccess(events + [refund, reversal], time)
        {
          return "the reversal did not restore \(time)"
        }
      }
      return nil
    }
  }

  private static func reversal(
    of transaction: Transaction, after refund: FoldEvent, status: Int64?
  ) -> FoldEvent {
    var event = refund
    event.seq = 101
    event.uuid = NotificationUUID(high: refund.uuid.high, low: 101)
    event.notificationType = "REFUND_REVERSED"
    event.signedDate = refund.signedDate + TestDate.day
    event.status = status
    let signed = event.signedDate
    event.transaction = transaction
    event.transaction?.signedDate = signed
    return event
  }

  /// P9: EXPIRED and GRACE_PERIOD_EXPIRED only report that time has passed.
  @Test func `without events of expiry there is no more access than with them`() {
    Property(make: Self.orderly).holds("P9") { wild, chance in
      let events = Self.withTruthfulExpiry(wild)
      let silent = events.filter { !Self.reportsExpiry($0) }
      for time in RandomHistory.clocks(events, &chance, count: 8)
      where hasAccess(silent, time) && !hasAccess(events, time) {
        return "without expiry events there is access at \(time)"
      }
      return nil
    }
  }

  private static func reportsExpiry(_ event: FoldEvent) -> Bool {
    event.notificationType == "EXPIRED" || event.notificationType == "GRACE_PERIOD_EXPIRED"
  }

  /// Makes events of expiry plausible: Apple sends renewal info and status together, and signs
  /// EXPIRED when no period, grace period or renewal date lies ahead, with the newest state of all
  /// objects.
  private static func withTruthfulExpiry(_ wild: [FoldEvent]) -> [FoldEvent] {
    var events: [FoldEvent] = []
    for var event in wild {
      if event.renewal == nil || event.status == 9 { event.status = nil }
      if event.status == nil { event.renewal = nil }
      guard reportsExpiry(event) else {
        events.append(event)
        continue
      }
      let signed = event.signedDate
      let state = folded(events.filter { $0.signedDate <= signed })
      let renewal = state.renewal?.renewal
      guard let row = Entitlement(state, at: signed), !row.givesAccess,
        let shown = row.purchase.flatMap({ state.transactions[$0.transactionId] })?.transaction,
        shown.expiresDate != nil, renewal?.gracePeriodExpiresDate ?? .min <= signed,
        renewal?.renewalDate ?? .min <= signed
      else { continue }
      let isOver = event.notificationType == "EXPIRED"
      event.transaction = shown
      event.transaction?.signedDate = signed
      event.renewal = renewal
      event.renewal?.signedDate = event.signedDate
      event.renewal?.isInBillingRetryPeriod = !isOver
      event.status = event.renewal == nil ? nil : isOver ? 2 : 3
      events.append(event)
    }
    return events
  }
}
