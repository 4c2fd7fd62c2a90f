import Foundation
import StrictJSON
import Support
import Testing

/// Scenarios of customers and the rows they must give, over HTTP and by the command, in many orders
/// of arrival and with duplicates (promises 4, 6 and 8).
@Suite struct ScenarioTests {
  /// One scenario in one order of arrival.
  private struct Run {
    let scenario: JSONElement
    /// Prefix of all ids, different for each run, so that one daemon serves all of them.
    let prefix: String
    let order: [Int]

    var events: [JSONElement] { scenario["events"]?.elements ?? [] }
    var answers: [JSONElement] { scenario["answers"]?.elements ?? [] }
    var name: String { "\(scenario["id"]?.string ?? "") in order \(order)" }

    func rewrite(_ id: JSONValue?) -> JSONValue? {
      guard case .string(let text) = id else { return nil }
      return .string(prefix + text)
    }

    /// The payload with the ids of this run. The order of ids stays the same, as it breaks ties.
    func payload(_ index: Int) -> JSONValue {
      var payload = events[index].value
      for path in [
        "originalTransactionId", "transactionId", "previousOriginalTransactionId",
      ] {
        for part in ["transaction", "renewalInfo"] {
          guard let id = rewrite(payload["data"]?[part]?[path]) else { continue }
          payload = payload.setting("data.\(part).\(path)", id)
        }
      }
      guard case .string(let uuid) = payload["notificationUUID"] else { return payload }
      let tail = String(repeating: "0", count: 12 - prefix.count) + prefix
      return payload.setting("notificationUUID", .string(uuid.prefix(24) + tail))
    }
  }

  /// All orders of up to four events; of more, each rotation and the reverse.
  private static func arrivals(_ count: Int) -> [[Int]] {
    if count <= 4 { return permutations(of: count) }
    let all = Array(0..<count)
    return [all.reversed()] + all.map { Array(all[$0...] + all[..<$0]) }
  }

  private func runs() throws -> [Run] {
    let file = try #require(
      Bundle.module.url(
        forResource: "scenarios", withExtension: "json", subdirectory: "Fixtures"))
    let document = try JSONDocument(parsing: Array(Data(contentsOf: file)))
    let scenarios = try #require(document.root["scenarios"]).elements
    #expect(scenarios.count == 34)
    return scenarios.enumerated().flatMap { number, scenario in
      Self.arrivals(scenario["events"]?.elements.count ?? 0).enumerated().map { index, order in
        Run(scenario: scenario, prefix: "9\(10 + number)\(10 + index)", order: order)
      }
    }
  }

  /// In four parts, which run in parallel.
  @Test(arguments: 0..<4) func `every scenario gives its answers in every order of arrival`(
    part: Int
  ) throws {
    let installation = try Installation()
    let daemon = try installation.start()
    let client = daemon.client()
    let runs = try runs().enumerated().filter { $0.offset % 4 == part }.map(\.element)
    for run in runs { try deliver(run, installation, client) }
    for run in runs {
      for answer in run.answers { try ask(run, answer, client) }
    }
    // The command reads the files, while the daemon runs and after it has stopped.
    for run in runs where run.prefix.hasSuffix("10") {
      try askByCommand(run, try #require(run.answers.last), installation)
    }
    #expect(try daemon.stop().code == 0)
    for run in runs where run.prefix.hasSuffix("11") {
      try askByCommand(run, try #require(run.answers.first), installation)
    }
    #expect(try installation.verify().code == 0)
  }

  /// Posts every event in the run's order; in some orders each one again right after the next.
  private func deliver(_ run: Run, _ installation: Installation, _ client: Client) throws {
    var last: [UInt8]?
    for index in run.order {
      let body = try installation.sign(run.payload(index))
      for delivery in [body, last].compactMap({ $0 }) {
        let answer = try #require(client.post(delivery), "\(run.name)")
        #expect(answer.status == 200, "\(run.name): \(answer.text)")
      }
      last = ["10", "12", "14"].contains(String(run.prefix.suffix(2))) ? body : nil
    }
  }

  private func ask(_ run: Run, _ answer: JSONElement, _ client: Client) throws {
    let id = run.prefix + (answer["original_transaction_id"]?.string ?? "")
    let environment = answer["environment"]?.string ?? ""
    let time = answer["as_of"]?.integer ?? 0
    let got = try #require(
      client.get("/v1/entitlements/\(id)?environment=\(environment)&as_of=\(time)"))
    #expect(got.status == 200, "\(run.name) \(time): \(got.text)")
    try compare(run, answer, with: try #require(got.json))
  }

  private func askByCommand(
    _ run: Run, _ answer: JSONElement, _ installation: Installation
  ) throws {
    let id = run.prefix + (answer["original_transaction_id"]?.string ?? "")
    let finished = try installation.run(
      "entitlement", id, "--environment", answer["environment"]?.string ?? "", "--as-of",
      "\(answer["as_of"]?.integer ?? 0)", "--json")
    #expect(finished.code == 0, "\(run.name): \(finished)")
    try compare(run, answer, with: try #require(try finished.lines().first))
  }

  private func compare(_ run: Run, _ answer: JSONElement, with got: JSONElement) throws {
    for (name, value) in try #require(answer["row"]).members {
      let expected = name == "transaction_id" ? run.rewrite(value.value) : value.value
      #expect(
        got[name]?.value.text == (expected ?? .null).text,
        "\(run.name), \(name) as of \(answer["as_of"]?.integer ?? 0)")
    }
  }
}
