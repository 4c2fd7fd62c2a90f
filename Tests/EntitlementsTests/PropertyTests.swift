import AppStore
import Entitlements
import Support
import Testing

/// Properties of the fold that hold for every history, plausible or not.
@Suite struct PropertyTests {
  /// P1, promise 6. Only `seq` may differ.
  @Test func `any order of events gives the same state and bytes`() {
    Property().holds("P1") { events, chance in
      let straight = folded(events).withoutSeq
      for _ in 0..<3 {
        let mixed = folded(events.shuffled(using: &chance)).withoutSeq
        if mixed != straight { return "the states differ" }
        if mixed.encoded() != straight.encoded() { return "the bytes differ" }
      }
      return nil
    }
  }

  /// P2. Only the event count differs, and the journal holds each event once.
  @Test func `a repeated event changes no register`() {
    Property().holds("P2") { events, chance in
      let once = folded(events)
      let again = (0..<chance.below(9)).map { _ in chance.pick(events + events) }
      let twice = folded(events + again)
      return once.transactions == twice.transactions && once.renewal == twice.renewal
        && once.status == twice.status && once.lastEvent == twice.lastEvent
        ? nil : "a repeat changed a register"
    }
  }

  /// P3, promise 7.
  @Test func `a state that was encoded and decoded evolves like the original`() {
    Property().holds("P3") { events, chance in
      let cut = Int(chance.below(Int64(events.count + 1)))
      let half = folded(Array(events[..<cut]))
      let stored = StreamState(decoding: half.encoded(), lastSeq: half.lastEvent?.seq)
      guard var state = stored else { return "unreadable" }
      for event in events[cut...] { state.evolve(event) }
      let whole = folded(events)
      return state.withoutSeq == whole.withoutSeq && state.encoded() == whole.encoded()
        ? nil : "cut after \(cut) events"
    }
  }

  /// P4, promise 8.
  @Test func `after the last signed end there is no access`() {
    Property().holds("P4") { events, chance in
      let plain = PlainRow(events: events, t: 0)
      let renewals = events.compactMap(\.renewal)
      // V1's renewal information is about an end that its own list told.
      let told = events.filter { !$0.isSigned }.flatMap(\.transactions)
      let ends =
        renewals.compactMap(\.renewalDate)
        + (told + plain.ids.map(plain.tx)).compactMap(\.expiresDate)
      // A grace period without a date lasts three days.
      let dates =
        renewals.compactMap(\.gracePeriodExpiresDate) + ends.map { $0 + 3 * TestDate.day }
      guard let last = (plain.ids.map(plain.end) + dates).max(), last != .max,
        plain.ids.allSatisfy({ plain.tx($0).expiresDate != nil })
      else { return nil }
      for wait in [0, 1, chance.below(1000) * TestDate.day] {
        let time = max(last, 0) + wait
        if Entitlement(folded(events), at: time)?.givesAccess == true { return "at \(time)" }
      }
      return nil
    }
  }

  /// Promise 8, seen from the row.
  @Test func `access ends at the time that the row names`() {
    Property().holds("access has an end") { events, chance in
      for time in RandomHistory.clocks(events, &chance, count: 8) {
        guard let row = Entitlement(folded(events), at: time), row.givesAccess else { continue }
        if row.status == .active {
          if let end = row.expiresAt, end <= time { return "at \(time), after \(end)" }
        } else if EntitlementRow(folded(events)).transitions(after: time, durations: [:]).isEmpty {
          return "grace without an end"
        }
      }
      return nil
    }
  }

  @Test func `what never ends has no span after it`() {
    var state = StreamState()
    for number in 1...2 {
      var transaction = Transaction()
      transaction.transactionId = "\(number)"
      transaction.originalTransactionId = "1"
      transaction.productId = "pass"
      transaction.type = "Non-Renewing Subscription"
      transaction.purchaseDate = 1_000
      transaction.signedDate = 1_000
      if number == 2 { transaction.revocationDate = 2_000 }
      state.evolve(
        FoldEvent(
          seq: Int64(number), uuid: NotificationUUID(high: 0, low: UInt64(number)),
          notificationType: "ONE_TIME_CHARGE", subtype: nil, signedDate: 1_000, status: nil,
          transactions: [transaction], renewal: nil))
    }
    let times = EntitlementRow(state).spans.map(\.from)
    #expect(times.allSatisfy { $0 < .max }, "\(times)")
  }

  /// P5.
  @Test func `an event about one transaction changes no other transaction`() {
    Property().holds("P5") { events, _ in
      var state = StreamState()
      for event in events {
        let before = state.transactions
        state.evolve(event)
        let ids = event.transactions.map(\.transactionId)
        for (id, register) in before
        where !ids.contains(id) && state.transactions[id] != register {
          return "#\(event.seq) changed \(id)"
        }
      }
      return nil
    }
  }

  @Test func `a row answers for every time as an evaluation at that time does`() {
    Property().holds("the spans of a row") { events, chance in
      let state = folded(events)
      let row = EntitlementRow(state)
      for span in row.spans {
        for offset: Int64 in [-1, 0, 1] {
          let time = span.from.advanced(orBoundBy: offset)
          if row.entitlement(at: time) != Entitlement(state, at: time) { return "at \(time)" }
        }
      }
      for time in RandomHistory.clocks(events, &chance, count: 5)
      where row.entitlement(at: time) != Entitlement(state, at: time) {
        return "at \(time)"
      }
      return nil
    }
  }

  /// `PlainRow` shares no code with the fold.
  @Test func `rows equal those of a second implementation`() {
    Property().holds("the row") { events, chance in
      let state = folded(events)
      let durations = chance.once(in: 2) ? ["season": 10 * TestDate.day] : [:]
      let own = Durations(milliseconds: durations)
      var second = PlainRow(events: events, t: 0, durations: durations)
      for time in RandomHistory.clocks(events, &chance, count: 5) {
        second.t = time
        let row = Entitlement(state, at: time, durations: own)?.summary
        let plain = second.summary
        if row != plain { return "at \(time)\nis    \(row ?? "none")\nplain \(plain ?? "none")" }
      }
      return nil
    }
  }

  /// Promise 8: a seat that was assigned gives access like a purchase, and dates alone end it. An
  /// unknown value neither gives nor ends access.
  @Test func `ownership, offer type and revocation type change no answer`() {
    Property().holds("the kinds of a transaction") { events, chance in
      var others = events
      for event in others.indices {
        for index in others[event].transactions.indices {
          RandomHistory.setKinds(&others[event].transactions[index], &chance)
        }
      }
      let (state, other) = (folded(events), folded(others))
      var second = PlainRow(events: others, t: 0)
      for time in RandomHistory.clocks(events, &chance, count: 5) {
        second.t = time
        let rows = [Entitlement(state, at: time)?.summary, Entitlement(other, at: time)?.summary]
        if rows[0] != rows[1] || rows[1] != second.summary {
          return "at \(time)\n\(rows.map { $0 ?? "none" })\nplain \(second.summary ?? "none")"
        }
      }
      return nil
    }
  }
}
