import AppStore
import Entitlements
import Testing

/// Every story holds in the order it is told, and its answers in every order of arrival.
@Suite struct ScenarioTests {
  @Test(arguments: Scenario.all) func rowAfterEachEvent(_ story: Scenario) throws {
    var states: [Scenario.Stream: StreamState] = [:]
    var clock = Int64.min
    for told in story.told {
      clock = max(clock, told.event.signedDate)
      states[told.stream, default: StreamState()].evolve(told.event)
      let state = try #require(states[told.stream])
      #expect(Entitlement(state, at: clock)?.told == told.row, "after event \(told.event.seq)")
    }
  }

  /// Promise 6, and law P1: all orders, and every event delivered twice.
  @Test(arguments: Scenario.all) func answersInEveryOrder(_ story: Scenario) {
    for answer in story.answers {
      let events = story.told
        .filter { $0.stream == answer.stream && $0.event.signedDate <= answer.time }
        .map(\.event)
      for order in orders(events) {
        var state = StreamState()
        for event in order + order { state.evolve(event) }
        #expect(
          Entitlement(state, at: answer.time)?.told == answer.row,
          "at \(TestDate.text(answer.time)), order \(order.map(\.seq))")
      }
    }
  }

  @Test func thereAreStories() {
    #expect(Scenario.all.count >= 34)
    #expect(Scenario.all.allSatisfy { !$0.told.isEmpty && !$0.answers.isEmpty })
    #expect(Scenario.all.flatMap(\.told).allSatisfy { !$0.row.isEmpty })
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
