import AppStore
import Clients
import Entitlements
import Foundation
import StrictJSON
import Support
import Testing

/// What is sent beside what the client of Apple's own library sends. SUBLEDGER_APPLE_CLIENT is a
/// Python that has the library; `.ci/consumption` sets it.
@Suite struct AppleClientTests {
  private static let python = ProcessInfo.processInfo.environment["SUBLEDGER_APPLE_CLIENT"]
  private typealias Sent = (id: String, information: ConsumptionInformation)

  /// What is decided about requests by chance.
  private static func decisions(_ count: Int) -> [Sent] {
    var chance = SplitMix64(seed: TestSeed.drawn)
    var sent: [Sent] = []
    while sent.count < count {
      let made = RandomRefund(&chance)
      let decision = RefundDecision(on: made.request, made.facts, made.policies, at: nil)
      if case .send(let information, _, _) = decision {
        sent.append((made.request.transactionId, information))
      }
    }
    return sent
  }

  /// The values, under names that are not Apple's.
  private static func line(_ sent: Sent) -> String {
    let (id, information) = sent
    return JSONValue.object([
      ("id", .string(id)), ("sample", .boolean(information.sampleContentProvided)),
      ("delivery", .string(information.delivery.rawValue)),
      ("percentage", .optional(information.consumptionPercentage)),
      ("preference", .optional(information.preference?.rawValue)),
    ]).text
  }

  private struct Request: Equatable {
    let method, target: String
    let type: String?
    let body: JSONValue

    init(_ request: ScriptedServer.Request) throws {
      (method, target) = (request.method, request.target)
      type = request.field("Content-Type")
      body = try JSONDocument(parsing: request.body).root.value
    }
  }

  @Test(.enabled(if: python != nil))
  func `path and body of 1,000 decisions are those of Apple's client`() throws {
    let decisions = Self.decisions(1_000)
    let folder = FileManager.default.temporaryDirectory.appending(path: "sl-apple-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let lines = folder.appending(path: "values")
    try Data(decisions.map(Self.line).joined(separator: "\n").utf8).write(to: lines)
    let accepted: @Sendable (ScriptedServer.Request) -> [ScriptedServer.Step] = { _ in
      [.response(202, "", type: nil)]
    }
    let apples = try ScriptedServer(accepted)
    let script = MonitoringFiles.repository.appending(path: ".ci/consumption.py").path
    let client = try RunningCommand(
      ["-B", script, apples.address, lines.path], in: folder,
      program: URL(filePath: try #require(Self.python))
    ).finish(within: 120)
    #expect(client.code == 0, "\(client)")
    let own = try Fixture(share: 1, answer: accepted)
    for (id, information) in decisions {
      try own.client.sendConsumption(information, of: id)
    }
    let (sent, expected) = (
      try own.server.requests.map(Request.init), try apples.requests.map(Request.init)
    )
    #expect(sent.count == decisions.count && expected.count == decisions.count)
    for (one, other) in zip(sent, expected) { #expect(one == other) }
    // Otherwise few kinds were compared.
    #expect(Set(decisions.map { $0.information }).count > 40)
  }
}
