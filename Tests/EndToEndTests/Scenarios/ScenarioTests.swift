import Foundation
import StrictJSON
import Support
import Testing

/// Lives of customers and the answers they must give, through HTTP and through the command, in many
/// orders of arrival and with duplicates (promises 4, 6 and 8).
@Suite struct ScenarioTests {
  private struct Play {
    let scenario: JSONElement
    /// Which scenario and which order: part of every id, so that one daemon serves all.
    let mark: String
    let order: [Int]

    var events: [JSONElement] { scenario["events"]?.elements ?? [] }
    var answers: [JSONElement] { scenario["answers"]?.elements ?? [] }
    var name: String { "\(scenario["id"]?.string ?? "") in order \(order)" }

    func rewrite(_ id: JSONValue?) -> JSONValue? {
      guard case .string(let text) = id else { return nil }
      return .string(mark + text)
    }

    /// The payload with ids of this play. Ids keep their order, as ties are broken by them.
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
      let tail = String(repeating: "0", count: 12 - mark.count) + mark
      return payload.setting("notificationUUID", .string(uuid.prefix(24) + tail))
    }
  }

  /// All orders of up to four events; of more, each rotation and the reverse.
  private static func arrivals(_ count: Int) -> [[Int]] {
    if count <= 4 { return orders(of: count) }
    let all = Array(0..<count)
    return [all.reversed()] + all.map { Array(all[$0...] + all[..<$0]) }
  }

  private func plays() throws -> [Play] {
    let file = try #require(
      Bundle.module.url(
        forResource: "scenarios", withExtension: "json", subdirectory: "Fixtures"))
    let document = try JSONDocument(parsing: Array(Data(contentsOf: file)))
    let scenarios = try #require(document.root["scenarios"]).elements
    #expect(scenarios.count == 34)
    return scenarios.enumerated().flatMap { number, scenario in
      Self.arrivals(scenario["events"]?.elements.count ?? 0).enumerated().map { index, order in
        Play(scenario: scenario, mark: "9\(10 + number)\(10 + index)", order: order)
      }
    }
  }

  /// In four parts, for time's sake.
  @Test(arguments: 0..<4) func everyAnswerInEveryOrder(part: Int) throws {
    let installation = try Installation()
    let daemon = try installation.start()
    let client = daemon.client()
    let plays = try plays().enumerated().filter { $0.offset % 4 == part }.map(\.element)
    for play in plays { try deliver(play, installation, client) }
    for play in plays {
      for answer in play.answers { try ask(play, answer, client) }
    }
    // The command asks the files, beside the daemon and when it is gone.
    for play in plays where play.mark.hasSuffix("10") {
      try askByCommand(play, try #require(play.answers.last), installation)
    }
    #expect(try daemon.stop().code == 0)
    for play in plays where play.mark.hasSuffix("11") {
      try askByCommand(play, try #require(play.answers.first), installation)
    }
    #expect(try installation.verify().code == 0)
  }

  /// Everything once in its order; in some orders each event again right behind the next.
  private func deliver(_ play: Play, _ installation: Installation, _ client: Client) throws {
    var last: [UInt8]?
    for index in play.order {
      let body = try installation.sign(play.payload(index))
      for delivery in [body, last].compactMap({ $0 }) {
        let answer = try #require(client.post(delivery), "\(play.name)")
        #expect(answer.status == 200, "\(play.name): \(answer.text)")
      }
      last = ["10", "12", "14"].contains(String(play.mark.suffix(2))) ? body : nil
    }
  }

  private func ask(_ play: Play, _ answer: JSONElement, _ client: Client) throws {
    let id = play.mark + (answer["original_transaction_id"]?.string ?? "")
    let environment = answer["environment"]?.string ?? ""
    let time = answer["as_of"]?.integer ?? 0
    let got = try #require(
      client.get("/v1/entitlements/\(id)?environment=\(environment)&as_of=\(time)"))
    #expect(got.status == 200, "\(play.name) \(time): \(got.text)")
    try compare(play, answer, with: try #require(got.json))
  }

  private func askByCommand(
    _ play: Play, _ answer: JSONElement, _ installation: Installation
  ) throws {
    let id = play.mark + (answer["original_transaction_id"]?.string ?? "")
    let finished = try installation.run(
      "entitlement", id, "--environment", answer["environment"]?.string ?? "", "--as-of",
      "\(answer["as_of"]?.integer ?? 0)", "--json")
    #expect(finished.code == 0, "\(play.name): \(finished)")
    try compare(play, answer, with: try #require(try finished.lines().first))
  }

  private func compare(_ play: Play, _ answer: JSONElement, with got: JSONElement) throws {
    for (name, value) in try #require(answer["row"]).members {
      let expected = name == "transaction_id" ? play.rewrite(value.value) : value.value
      #expect(
        got[name]?.value.text == (expected ?? .null).text,
        "\(play.name), \(name) as of \(answer["as_of"]?.integer ?? 0)")
    }
  }
}
