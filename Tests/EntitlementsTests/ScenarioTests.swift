import AppStore
import Entitlements
import Support
import Testing

/// The rows of every scenario in its own order, and its answers in every order of arrival.
@Suite struct ScenarioTests {
  @Test(arguments: Scenario.all)
  func `after each event the row is as written`(_ scenario: Scenario) throws {
    var states: [Scenario.Stream: StreamState] = [:]
    var clock = Int64.min
    for entry in scenario.entries {
      clock = max(clock, entry.event.signedDate)
      states[entry.stream, default: StreamState()].evolve(entry.event)
      let state = try #require(states[entry.stream])
      let row = Entitlement(state, at: clock)?.scenarioText
      #expect(row == entry.row, "after event \(entry.event.seq)")
    }
  }

  /// Promise 6 and property P1: in all orders, with every event delivered twice.
  @Test(arguments: Scenario.all)
  func `answers are the same in every order of arrival`(_ scenario: Scenario) {
    for answer in scenario.answers {
      let events = scenario.entries
        .filter { $0.stream == answer.stream && $0.event.signedDate <= answer.time }
        .map(\.event)
      for order in orders(events) {
        var state = StreamState()
        for event in order + order { state.evolve(event) }
        #expect(
          Entitlement(state, at: answer.time)?.scenarioText == answer.row,
          "at \(TestDate.text(answer.time)), order \(order.map(\.seq))")
      }
    }
  }

  @Test func `every scenario has events with rows, and answers`() {
    #expect(Scenario.all.count >= 34)
    #expect(Scenario.all.allSatisfy { !$0.entries.isEmpty && !$0.answers.isEmpty })
    #expect(Scenario.all.flatMap(\.entries).allSatisfy { !$0.row.isEmpty })
  }

  private func orders(_ events: [FoldEvent]) -> [[FoldEvent]] {
    guard events.count > 1 else { return [events] }
    return events.indices.flatMap { index in
      var rest = events
      let first = rest.remove(at: index)
      return orders(rest).map { [first] + $0 }
    }
  }
}
