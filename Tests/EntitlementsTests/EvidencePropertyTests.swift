import AppStore
import Entitlements
import Support
import Testing

/// Evidence that only confirms is held, and no answer depends on that (promise 6).
@Suite struct EvidencePropertyTests {
  /// A stream that is told events one by one, as the journal is.
  private struct Told {
    private(set) var journaled: [FoldEvent] = []
    private(set) var held: [FoldEvent] = []
    private var judge = EvidenceJudge()

    init(_ events: [FoldEvent]) { for event in events { tell(event) } }

    private mutating func tell(_ event: FoldEvent) {
      let isNew = !isEvidence(event) || judge.saysNew(event) == true
      guard isNew else { return held.append(event) }
      judge.add(event)
      journaled.append(event)
      var pass = EvidencePass(events: journaled, pieces: held, by: .current)
      while !pass.advance(while: { false }) {}
      let released = pass.released
      for piece in released { judge.add(held[piece]) }
      journaled += released.map { held[$0] }
      held = held.indices.filter { !released.contains($0) }.map { held[$0] }
    }
  }

  /// A stream of which what is held is judged in turns between the events that are told. Evidence
  /// for which there is no time is held without being judged.
  private struct ToldInTurns {
    private(set) var journaled: [FoldEvent] = []
    private(set) var held: [FoldEvent] = []
    private var judge = EvidenceJudge()
    private var pass: EvidencePass?
    /// What is held when the pass begins.
    private var pieces: [FoldEvent] = []
    private var isRepeated = false

    init(_ events: [FoldEvent], _ chance: inout SplitMix64) {
      for event in events {
        tell(event, &chance)
        if chance.once(in: 2) { work(Int(chance.below(6))) }
      }
      while pass != nil { work(.max) }
    }

    private mutating func tell(_ event: FoldEvent, _ chance: inout SplitMix64) {
      if isEvidence(event) {
        let isInDoubt = chance.once(in: 4)
        guard !isInDoubt, judge.saysNew(event) == true else {
          held.append(event)
          if isInDoubt || pass != nil { judgeAgain() }
          return
        }
      }
      journal(event)
      if pass == nil { begin() } else { pass?.add(event) }
    }

    private mutating func judgeAgain() {
      if pass == nil { begin() } else { isRepeated = true }
    }

    private mutating func journal(_ event: FoldEvent) {
      judge.add(event)
      journaled.append(event)
    }

    private mutating func begin() {
      (pieces, isRepeated) = (held, false)
      pass = EvidencePass(events: journaled, pieces: pieces, by: .current)
    }

    private mutating func work(_ steps: Int) {
      var left = steps
      let isDone = pass?.advance {
        left -= 1
        return left > 0
      }
      guard isDone == true, let released = pass?.released.map({ pieces[$0] }) else { return }
      for event in released where held.contains(where: { $0.uuid == event.uuid }) {
        held.removeAll { $0.uuid == event.uuid }
        journal(event)
      }
      pass = nil
      if isRepeated { begin() }
    }
  }

  private static func isEvidence(_ event: FoldEvent) -> Bool {
    ["TRANSACTION_INFO", "RENEWAL_INFO", "RECEIPT"].contains(event.notificationType)
  }

  /// A history of which some events are evidence: one object, signed when the event was.
  private static func history(_ chance: inout SplitMix64) -> [FoldEvent] {
    RandomHistory.mixed(&chance).flatMap { event -> [FoldEvent] in
      if !event.isSigned, chance.once(in: 2) {
        let receipt = receipt(event)
        return receipt.transactions.isEmpty ? [event] : [receipt] + repeats(of: receipt, &chance)
      }
      guard event.isSigned, !chance.once(in: 3) else { return [event] }
      var evidence = event
      (evidence.status, evidence.subtype) = (nil, nil)
      if let transaction = event.transactions.first, chance.once(in: 2) {
        evidence.notificationType = "TRANSACTION_INFO"
        evidence.renewal = nil
        evidence.transactions = [transaction]
        evidence.transactions[0].signedDate = event.signedDate
      } else if let renewal = event.renewal {
        evidence.notificationType = "RENEWAL_INFO"
        evidence.transactions = []
        evidence.renewal = renewal
        evidence.renewal?.signedDate = event.signedDate
      } else {
        return [event]
      }
      // Apple says the same again later.
      return [evidence] + repeats(of: evidence, &chance)
    }
  }

  /// A receipt that lists what a version 1 notification does. It says nothing of renewals, nor of
  /// upgrades.
  private static func receipt(_ event: FoldEvent) -> FoldEvent {
    var receipt = event
    receipt.notificationType = "RECEIPT"
    (receipt.subtype, receipt.status, receipt.renewal) = (nil, nil, nil)
    for index in receipt.transactions.indices { receipt.transactions[index].isUpgraded = false }
    return receipt
  }

  private static func repeats(
    of evidence: FoldEvent, _ chance: inout SplitMix64
  ) -> [FoldEvent] {
    (0..<chance.below(3)).map { number in
      var again = evidence
      again.uuid = NotificationUUID(high: chance.next(), low: UInt64(number))
      again.signedDate = RandomHistory.time(&chance)
      for index in again.transactions.indices {
        again.transactions[index].signedDate = again.signedDate
      }
      again.renewal?.signedDate = again.signedDate
      return again
    }
  }

  /// Each of these histories is folded a hundred times: a tenth of the usual number, and fewer.
  private static func property(_ divisor: Int) -> Property {
    var property = Property(make: history)
    property.histories /= 10 * divisor
    return property
  }

  private static func row(_ events: [FoldEvent]) -> EntitlementRow {
    var row = EntitlementRow(folded(events))
    (row.eventCount, row.lastEvent) = (0, nil)
    return row
  }

  @Test func `holding evidence back changes no row, in any order of arrival`() {
    Self.property(1).holds("the law of evidence") { events, chance in
      let whole = Self.row(events)
      for _ in 0..<3 {
        let told = Told(events.shuffled(using: &chance))
        guard told.journaled.count + told.held.count == events.count else { return "one is lost" }
        if Self.row(told.journaled) != whole { return "the rows differ" }
      }
      return nil
    }
  }

  @Test func `judging in turns changes no row, now or in the past`() {
    Self.property(1).holds("the law of turns") { events, chance in
      let told = ToldInTurns(events.shuffled(using: &chance), &chance)
      guard told.journaled.count + told.held.count == events.count else { return "one is lost" }
      for time in events.map(\.signedDate) + [.max] {
        let isPast = { (event: FoldEvent) in event.signedDate <= time }
        if Self.row(told.journaled.filter(isPast)) != Self.row(events.filter(isPast)) {
          return "as of \(time == .max ? "now" : TestDate.text(time))"
        }
      }
      return nil
    }
  }

  @Test func `what a state shows to be new, the events show too`() {
    Self.property(1).holds("news by a state") { events, chance in
      var judge = EvidenceJudge()
      var newest = Int64.min
      for event in events.shuffled(using: &chance) {
        let state = EvidenceJudge.state(of: judge.state, changedBy: event, .current)
        let isNew = judge.saysNew(event) == true
        judge.add(event)
        if let state {
          if !isNew || state != judge.state { return "the state shows more" }
        } else if isNew, event.signedDate >= newest {
          return "the state shows less"
        }
        newest = max(newest, event.signedDate)
      }
      return nil
    }
  }

  @Test func `every order of a small set gives the same row`() {
    Self.property(20).holds("the law of evidence") { events, _ in
      let events = Array(events.prefix(5))
      let whole = Self.row(events)
      let differing = permutations(of: events.count).first { order in
        Self.row(Told(order.map { events[$0] }).journaled) != whole
      }
      return differing.map { "in the order \($0)" }
    }
  }

  @Test func `holding evidence back changes no answer about the past`() {
    Self.property(1).holds("the past of evidence") { events, chance in
      let told = Told(events.shuffled(using: &chance))
      for event in events {
        for time in [event.signedDate, event.signedDate + TestDate.day] {
          let isPast = { (event: FoldEvent) in event.signedDate <= time }
          if Self.row(told.journaled.filter(isPast)) != Self.row(events.filter(isPast)) {
            return "as of \(TestDate.text(time))"
          }
        }
      }
      return nil
    }
  }
}
