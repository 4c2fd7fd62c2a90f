import Entitlements
import JournalStore
import LedgerEngine
import Support
import Testing

/// The use cases of Apple's tables, told as stories: what Apple sends, and what the row then says.
///
/// Each is told in order through the door; then its events are folded in every order, and come to a
/// few ledgers in some orders, each of them twice: what is true in the end is the same.
@Suite struct ScenarioTests {
  @Test(arguments: try Scenario.all("v2-lifecycle")) func lifecycle(_ story: Scenario) throws {
    try play(story)
  }

  @Test(arguments: try Scenario.all("v2-money")) func money(_ story: Scenario) throws {
    try play(story)
  }

  @Test(arguments: try Scenario.all("v1")) func v1(_ story: Scenario) throws { try play(story) }

  /// Products of the stories that do not renew: what is configured, and what that is.
  private static let durations = ["season.pass": "P90D"]
  private static let milliseconds = ["season.pass": Int64(90 * 86_400_000)]

  private func play(_ story: Scenario) throws {
    #expect(!story.events.isEmpty && !story.answers.isEmpty)
    let bodies = try story.bodies()
    let ledger = try Self.ledger()
    try tellInOrder(story, bodies, ledger)
    // Arrival is years after what is told, and says nothing.
    let received = try bodies.map { try ledger.receive($0, at: 1_900_000_000_000) }
    let orders = Orders.all(story.events.count)
    try fold(story, received, orders)
    let digest = try ledger.digest()
    for order in [orders.last, orders[orders.count / 2]].compactMap({ $0 }) {
      try deliver(story, received, order, digest)
    }
  }

  /// The row after each event, our clock being the newest date so far.
  private func tellInOrder(_ story: Scenario, _ bodies: [[UInt8]], _ ledger: TestLedger) throws {
    var now = Int64.min
    for (event, body) in zip(story.events, bodies) {
      now = max(now, event.date)
      guard case .accepted = try ledger.take(body, at: now) else {
        Issue.record("\(story.title), line \(event.line): not accepted")
        return
      }
      let row = try event.originalTransactionId.flatMap { try ledger.row($0, now: now) }
      #expect(RowText.of(row) == event.row, "\(story.title), line \(event.line)")
    }
    try ask(story, ledger, "told in order")
  }

  /// Every order, by the fold alone: the same registers to the byte, the same answers.
  private func fold(
    _ story: Scenario, _ received: [Receiver.Received], _ orders: [[Int]]
  ) throws {
    var expected: [[UInt8]]?
    for order in orders {
      let steps = order.map { received[$0] }
      let keys = Set(steps.compactMap(\.stream)).sorted()
      let states = keys.map { Self.state($0, steps, through: .max).withoutSeq.encoded() }
      #expect(expected ?? states == states, "\(story.title), order \(order)")
      expected = expected ?? states
      for answer in story.answers {
        let key = keys.first { $0.originalTransactionId == answer.originalTransactionId }
        let entitlement = key.flatMap {
          Entitlement(
            Self.state($0, steps, through: answer.date), at: answer.date,
            durations: Self.milliseconds)
        }
        #expect(
          (entitlement?.status.rawValue ?? "no row") == answer.status,
          "\(story.title), line \(answer.line), order \(order)")
        #expect((entitlement?.givesAccess ?? false) == answer.givesAccess)
      }
    }
  }

  private static func state(
    _ key: StreamKey, _ steps: [Receiver.Received], through date: Int64
  ) -> StreamState {
    var state = StreamState()
    for step in steps where step.stream == key {
      if let event = step.foldEvent, event.signedDate <= date { state.evolve(event) }
    }
    return state
  }

  /// A ledger of its own for one order of arrival, each event coming twice.
  private func deliver(
    _ story: Scenario, _ received: [Receiver.Received], _ order: [Int], _ digest: String
  ) throws {
    let ledger = try Self.ledger()
    for (count, place) in (order + order.reversed()).enumerated() {
      let answer = ledger.submit(received[place])
      if case .duplicate = answer { continue }
      #expect(count < order.count, "\(story.title): taken twice")
    }
    #expect(try ledger.digest() == digest, "\(story.title), arrival \(order)")
    if order == Array(story.events.indices.reversed()) { try ask(story, ledger, "reversed") }
  }

  private func ask(_ story: Scenario, _ ledger: TestLedger, _ how: String) throws {
    for answer in story.answers {
      let row = try ledger.row(answer.originalTransactionId, asOf: answer.date)
      #expect(RowText.of(row) == answer.row, "\(story.title), line \(answer.line), \(how)")
    }
  }

  private static func ledger() throws -> TestLedger {
    try TestLedger(secrets: [Scenario.secret], durations: durations)
  }
}

/// In which orders events arrive.
enum Orders {
  /// All orders of up to five events, sixty of more.
  static func all(_ count: Int) -> [[Int]] {
    var dice = Dice(state: UInt64(count))
    return count <= 5
      ? permutations(Array(0..<count)) : (0..<60).map { _ in (0..<count).shuffled(using: &dice) }
  }

  private static func permutations(_ items: [Int]) -> [[Int]] {
    guard items.count > 1 else { return [items] }
    return items.flatMap { first in
      permutations(items.filter { $0 != first }).map { [first] + $0 }
    }
  }
}
