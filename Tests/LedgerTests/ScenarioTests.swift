import AppStore
import Foundation
import Ledger
import Queries
import Store
import StrictJSON
import Support
import Testing

/// The V1 scenarios of `scenarios-v1.json`: every order of arrival and every event twice give the
/// same answers.
@Suite struct ScenarioTests {
  @Test func `every scenario gives its answers in every order of arrival`() throws {
    let text = try V1Fixtures.fixture("scenarios-v1.json")
    let scenarios = try JSONDocument(parsing: Array(text.utf8)).root["scenarios"]?.elements ?? []
    #expect(scenarios.count == 5)
    for scenario in scenarios { try check(scenario) }
  }

  private func check(_ scenario: JSONElement) throws {
    let name = scenario["id"]?.string ?? ""
    let events = scenario["events"]?.elements ?? []
    let bodies = events.compactMap { $0["body"]?.value.bytes }
    var digests: Set<String> = []
    for order in Self.permutations(Array(bodies.indices)) {
      let ledger = try V1Fixtures.ledger()
      for index in order { try ledger.ingest(bodies[index], at: 1_900_000_000_000) }
      for index in order.reversed() {
        guard case .duplicate = try ledger.ingest(bodies[index], at: 1_900_000_000_001) else {
          Issue.record("\(name): accepted twice")
          return
        }
      }
      digests.insert(try ledger.digest())
      for (event, index) in zip(try ledger.events(), order) {
        #expect(event.signedDate == events[index]["evidenceDate"]?.integer, "\(name) \(index)")
      }
      for answer in scenario["answers"]?.elements ?? [] { try check(answer, ledger, name) }
    }
    #expect(digests.count == 1, "\(name): rows differ with the order of arrival")
  }

  private func check(_ answer: JSONElement, _ ledger: TestLedger, _ name: String) throws {
    let row = try ledger.row(
      answer["original_transaction_id"]?.string ?? "", asOf: answer["as_of"]?.integer,
      environment: Environment(rawValue: answer["environment"]?.string ?? ""))
    for (member, value) in answer["row"]?.members ?? [] {
      #expect(row?.json[member]?.text == value.value.text, "\(name): \(member)")
    }
  }

  private static func permutations(_ items: [Int]) -> [[Int]] {
    guard items.count > 1 else { return [items] }
    return items.flatMap { first in
      permutations(items.filter { $0 != first }).map { [first] + $0 }
    }
  }
}
