import Foundation
import StrictJSON
import Support
import Testing

/// The V1 scenarios over HTTP, in every order of arrival and with every body twice. Afterwards no
/// file and no log line contains the shared secret.
@Suite struct V1ScenarioTests {
  private static let secret = "canary-8c1f-shared-secret"

  private static func scenarios() throws -> [JSONElement] {
    let file = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../../LedgerEngineTests/Fixtures/scenarios-v1.json")
    return try JSONDocument(parsing: Array(Data(contentsOf: file))).root["scenarios"]?.elements
      ?? []
  }

  /// The body with the ids of one run, whose order stays the same, and with the secret.
  private static func body(_ value: JSONValue, _ prefix: String) -> JSONValue {
    switch value {
    case .array(let values): return .array(values.map { body($0, prefix) })
    case .object(let members):
      return .object(
        members.map { name, member in
          switch (name, member) {
          case ("original_transaction_id", .number(let id)): (name, .number(prefix + id))
          case ("original_transaction_id", .string(let id)), ("transaction_id", .string(let id)):
            (name, .string(prefix + id))
          case ("password", _): (name, .string(secret))
          default: (name, body(member, prefix))
          }
        })
    default: return value
    }
  }

  @Test
  func `every V1 scenario gives its answers in every order, and the secret is stored nowhere`()
    throws
  {
    let installation = try Installation()
    let secretFile = installation.folder.appending(path: "v1.secret")
    try Data((Self.secret + "\n").utf8).write(to: secretFile)
    try FileManager.default.setAttributes(
      [.posixPermissions: 0o600], ofItemAtPath: secretFile.path)
    try installation.configure(
      apps: [Installation.app().setting("v1SharedSecretFile", .string(secretFile.path))])
    let daemon = try installation.start()
    let client = daemon.client()
    var prefix = 100
    for scenario in try Self.scenarios() {
      let events = (scenario["events"]?.elements ?? []).compactMap { $0["body"]?.value }
      for order in permutations(of: events.count) {
        prefix += 1
        for index in order {
          let body = Self.body(events[index], "\(prefix)").bytes
          #expect(client.post(body)?.json?["outcome"]?.string == "accepted")
          #expect(client.post(body)?.json?["outcome"]?.string == "duplicate")
        }
        for answer in scenario["answers"]?.elements ?? [] {
          try ask(answer, "\(prefix)", client, "\(scenario["id"]?.string ?? "") in order \(order)")
        }
      }
    }
    #expect(prefix == 126)
    let wrong = Self.body(.object([("notification_type", .string("CANCEL"))]), "1").bytes
    #expect(client.post(wrong)?.status == 401)
    #expect(try daemon.stop().code == 0)
    #expect(try installation.verify().code == 0)
    for (name, bytes) in try installation.files() {
      #expect(bytes.range(of: Data(Self.secret.utf8)) == nil, "the secret is in \(name)")
    }
    #expect(!daemon.log.contains(Self.secret))
  }

  private func ask(
    _ answer: JSONElement, _ prefix: String, _ client: Client, _ what: String
  ) throws {
    let id = prefix + (answer["original_transaction_id"]?.string ?? "")
    let time = answer["as_of"]?.integer ?? 0
    let got = try #require(client.get("/v1/entitlements/\(id)?as_of=\(time)")?.json)
    for (name, value) in try #require(answer["row"]).members {
      var expected = value.value
      if name == "transaction_id", case .string(let id) = expected {
        expected = .string(prefix + id)
      }
      #expect(got[name]?.value.text == expected.text, "\(what), \(name) as of \(time)")
    }
  }
}
