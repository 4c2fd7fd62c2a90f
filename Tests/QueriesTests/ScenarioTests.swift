import AppStore
import Entitlements
import Ledger
import Store
import Support
import Testing

/// The use cases of Apple's tables as scenarios: what Apple sends, and the row after it.
///
/// Each scenario is received in order. Then its events are folded in every order, and received by
/// other ledgers in some orders and twice: the final rows must be the same.
@Suite struct ScenarioTests {
  @Test(arguments: try Scenario.all("v2-lifecycle"))
  func `every lifecycle scenario gives its rows in every order of arrival`(_ scenario: Scenario)
    throws
  {
    try check(scenario)
  }

  @Test(arguments: try Scenario.all("v2-money"))
  func `every money scenario gives its rows in every order of arrival`(_ scenario: Scenario) throws
  {
    try check(scenario)
  }

  @Test(arguments: try Scenario.all("v1"))
  func `every V1 scenario gives its rows in every order of arrival`(_ scenario: Scenario) throws {
    try check(scenario)
  }

  /// The configured durations of non-renewing products, and the same in milliseconds.
  private static let durations = ["season.pass": "P90D"]
  private static let milliseconds = ["season.pass": Int64(90 * 86_400_000)]

  private func check(_ scenario: Scenario) throws {
    #expect(!scenario.events.isEmpty && !scenario.answers.isEmpty)
    let bodies = try scenario.bodies()
    let ledger = try Self.ledger()
    try receiveInOrder(scenario, bodies, ledger)
    // Received years after they were signed: the receive time must not matter.
    let received = try bodies.map { try ledger.receive($0, at: 1_900_000_000_000) }
    let orders = ArrivalOrders.all(scenario.events.count)
    try fold(scenario, received, orders)
    let digest = try ledger.digest()
    for order in [orders.last, orders[orders.count / 2]].compactMap({ $0 }) {
      try deliver(scenario, received, order, digest)
    }
  }

  /// Checks the row after each event; our clock is the latest date so far.
  private func receiveInOrder(_ scenario: Scenario, _ bodies: [[UInt8]], _ ledger: TestLedger)
    throws
  {
    var now = Int64.min
    for (event, body) in zip(scenario.events, bodies) {
      now = max(now, event.date)
      guard case .accepted = try ledger.ingest(body, at: now) else {
        Issue.record("\(scenario.title), line \(event.line): not accepted")
        return
      }
      let row = try event.originalTransactionId.flatMap { try ledger.row($0, now: now) }
      #expect(RowText.of(row) == event.row, "\(scenario.title), line \(event.line)")
    }
    try expectAnswers(scenario, ledger, "in order")
  }

  /// Folds every order without a ledger. The registers must be the same to the byte, and the
  /// answers the same too.
  private func fold(
    _ scenario: Scenario, _ received: [Receiver.Received], _ orders: [[Int]]
  ) throws {
    var expected: [[UInt8]]?
    for order in orders {
      let steps = order.map { received[$0] }
      let keys = Set(steps.compactMap(\.stream)).sorted()
      let states = keys.map { Self.state($0, steps, through: .max).withoutSeq.encoded() }
      #expect(expected ?? states == states, "\(scenario.title), order \(order)")
      expected = expected ?? states
      for answer in scenario.answers {
        let key = keys.first { $0.originalTransactionId == answer.originalTransactionId }
        let entitlement = key.flatMap {
          Entitlement(
            Self.state($0, steps, through: answer.date), at: answer.date,
            durations: Durations(milliseconds: Self.milliseconds))
        }
        #expect(
          (entitlement?.status.rawValue ?? "no row") == answer.status,
          "\(scenario.title), line \(answer.line), order \(order)")
        #expect((entitlement?.givesAccess ?? false) == answer.givesAccess)
      }
    }
  }

  private static func state(
    _ key: StreamKey, _ steps: [Receiver.Received], through date: Int64
  ) -> StreamState {
    var state = StreamState()
    for step in steps where step.stream == key {
      if let event = step.foldEvent(seq: 0), event.signedDate <= date { state.evolve(event) }
    }
    return state
  }

  /// Delivers one order of arrival to a new ledger, each event twice.
  private func deliver(
    _ scenario: Scenario, _ received: [Receiver.Received], _ order: [Int], _ digest: String
  ) throws {
    let ledger = try Self.ledger()
    for (count, index) in (order + order.reversed()).enumerated() {
      let answer = ledger.submit(received[index])
      if case .duplicate = answer { continue }
      #expect(count < order.count, "\(scenario.title): accepted twice")
    }
    #expect(try ledger.digest() == digest, "\(scenario.title), arrival \(order)")
    if order == Array(scenario.events.indices.reversed()) {
      try expectAnswers(scenario, ledger, "reversed")
    }
  }

  private func expectAnswers(_ scenario: Scenario, _ ledger: TestLedger, _ how: String) throws {
    for answer in scenario.answers {
      let row = try ledger.row(answer.originalTransactionId, asOf: answer.date)
      #expect(RowText.of(row) == answer.row, "\(scenario.title), line \(answer.line), \(how)")
    }
  }

  private static func ledger() throws -> TestLedger {
    try TestLedger(secrets: [Scenario.secret], durations: durations)
  }
}

/// Orders of arrival.
enum ArrivalOrders {
  /// All orders of up to five events; of more, sixty random ones that are the same in every run.
  static func all(_ count: Int) -> [[Int]] {
    var generator = SplitMix64(state: UInt64(count))
    return count <= 5
      ? permutations(Array(0..<count))
      : (0..<60).map { _ in (0..<count).shuffled(using: &generator) }
  }

  private static func permutations(_ items: [Int]) -> [[Int]] {
    guard items.count > 1 else { return [items] }
    return items.flatMap { first in
      permutations(items.filter { $0 != first }).map { [first] + $0 }
    }
  }
}
