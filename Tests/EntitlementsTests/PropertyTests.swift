import AppStore
import Entitlements
import Support
import Testing

/// What holds of every history, sensible or not.
@Suite struct PropertyTests {
  /// P1, promise 6: any order gives the same state, to the byte, but for `seq`.
  @Test func orderDoesNotMatter() {
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

  /// P2: registers take a second delivery as if it had not come. (The journal has counted it once.)
  @Test func repeatsDoNotMatter() {
    Property().holds("P2") { events, chance in
      let once = folded(events)
      let again = (0..<chance.below(9)).map { _ in chance.pick(events + events) }
      let twice = folded(events + again)
      return once.transactions == twice.transactions && once.renewal == twice.renewal
        && once.status == twice.status && once.lastEvent == twice.lastEvent
        ? nil : "a repeat changed a register"
    }
  }

  /// P3, promise 7: a state that was stored and read is as good as one that was kept.
  @Test func restartsDoNotMatter() {
    Property().holds("P3") { events, chance in
      let cut = Int(chance.below(Int64(events.count + 1)))
      let half = folded(Array(events[..<cut]))
      let stored = StreamState(decoding: half.encoded(), lastSeq: half.lastEvent?.seq)
      guard var state = stored else { return "unreadable" }
      for event in events[cut...] { state.evolve(event) }
      return state == folded(events) && state.encoded() == folded(events).encoded()
        ? nil : "cut after \(cut) events"
    }
  }

  /// P4, promise 8: past every end that anybody signed, nobody has access.
  @Test func silenceGrantsNothing() {
    Property().holds("P4") { events, chance in
      let plain = PlainRow(events: events, t: 0)
      let dates = [plain.ri?.gracePeriodExpiresDate, plain.ri?.renewalDate].compactMap { $0 }
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

  /// Promise 8 from the row's side: access always names the end it has, and that is still to come.
  @Test func accessHasAnEnd() {
    Property().holds("access has an end") { events, chance in
      for time in RandomHistory.clocks(events, &chance, count: 8) {
        guard let row = Entitlement(folded(events), at: time), row.givesAccess else { continue }
        let end = row.status == .active ? row.expiresAt : row.gracePeriodExpiresAt
        if let end, end <= time { return "at \(time) access should have ended at \(end)" }
        if end == nil, row.status == .gracePeriod { return "grace without an end" }
      }
      return nil
    }
  }

  /// P5: an event about one transaction leaves every other as it was.
  @Test func transactionsDoNotTouch() {
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

  /// A row is good for every moment: what it says of one is what is worked out for that one alone.
  @Test func rowsHoldForEveryMoment() {
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

  /// The derived values, against a second implementation that shares nothing with the first.
  @Test func rowsAreAsWorkedOutPlainly() {
    Property().holds("the row") { events, chance in
      let state = folded(events)
      let durations = chance.once(in: 2) ? ["season": 10 * TestDate.day] : [:]
      var reckoning = PlainRow(events: events, t: 0, durations: durations)
      for time in RandomHistory.clocks(events, &chance, count: 5) {
        reckoning.t = time
        let row = Entitlement(state, at: time, durations: durations)?.words
        let plain = reckoning.words
        if row != plain { return "at \(time)\nis    \(row ?? "none")\nplain \(plain ?? "none")" }
      }
      return nil
    }
  }
}
