import Foundation
import JournalStore
import StrictJSON
import Support
import Testing

/// A V1 secret, a read token and an account token go through every door, in good requests and bad
/// ones; then they are looked for wherever anything was written or said.
@Suite struct CanaryTests {
  private static let secret = "canary5e1f0c2ad9b84e6fb7aa01d3c4e5f607"
  private static let token = "canary-token-0f9e8d7c6b5a"
  private static let account = "ca11ab1e-0000-4000-8000-00000000beef"

  /// What was said, by who said it.
  private final class Sayings {
    private(set) var all: [(from: String, text: String)] = []
    /// What may name the account: rows, timelines, exports.
    private(set) var ofCustomers: [(from: String, text: String)] = []

    func add(_ from: String, _ answer: Client.Answer?) {
      guard let answer else { return }
      all.append((from, answer.head + answer.text))
    }

    func add(_ from: String, _ finished: Finished) {
      all.append((from, finished.errors))
      all.append((from, finished.output))
    }

    func addOfCustomers(_ from: String, _ text: String) { ofCustomers.append((from, text)) }
  }

  private func installation() throws -> Installation {
    let installation = try Installation()
    let secrets = installation.folder.appending(path: "app.secret")
    try Data((Self.secret + "\n").utf8).write(to: secrets)
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: secrets.path)
    guard case .object(let members) = Installation.app() else { throw Trouble("no object") }
    let app = JSONValue.object(members + [("v1SharedSecretFile", .string(secrets.path))])
    try installation.configure(
      apps: [app],
      with: [("readTokens", .array([Installation.token("canary", Self.token, [])]))])
    return installation
  }

  // MARK: Bodies

  private static func v1(
    _ number: Int, password: JSONValue? = .string(secret), bundle: String = "com.example.app",
    environment: String = "PROD", more: [(String, JSONValue)] = []
  ) -> [UInt8] {
    let entry = JSONValue.object([
      ("transaction_id", .string("7300\(number)")), ("original_transaction_id", .string("7300")),
      ("product_id", .string("basic")), ("app_account_token", .string(account)),
      ("purchase_date_ms", .string(String(Sample.start + Int64(number) * Sample.day))),
      ("expires_date_ms", .string(String(Sample.start + Int64(number + 30) * Sample.day))),
    ])
    var members: [(String, JSONValue)] = [
      ("notification_type", .string("DID_RENEW")), ("environment", .string(environment)),
      ("bid", .string(bundle)), ("original_transaction_id", .string("7300")),
      (
        "unified_receipt",
        .object([
          ("environment", .string("Production")), ("latest_receipt_info", .array([entry])),
        ])
      ),
    ]
    if let password { members.append(("password", password)) }
    return JSONValue.object(members + more).bytes
  }

  private static func v2(_ number: Int, bundle: String = "com.example.app") -> JSONValue {
    Sample.notification(number, bundleId: bundle)
      .setting("data.transaction.appAccountToken", .string(account))
      .setting("data.renewalInfo.appAccountToken", .string(account))
  }

  /// Bodies with the statuses they get.
  private func bodies(_ installation: Installation) throws -> [(Int, [UInt8])] {
    let good = try installation.sign(Self.v2(1))
    let secret = Self.secret
    let text = String(decoding: Self.v1(9), as: UTF8.self)
    let twice = "{\"password\":\"\(secret)\"," + text.dropFirst()
    let escaped = "{\"pass\\u0077ord\":\"\(secret)\"," + text.dropFirst()
    return [
      (200, good), (200, Self.v1(1)), (200, Self.v1(2)),
      (422, try installation.sign(Self.v2(2, bundle: "com.example.alien"))),
      (422, Self.v1(3, bundle: "com.example.alien")),
      (422, Self.v1(4, environment: "Elsewhere")),
      (401, Self.v1(5, password: .string(secret + "x"))),
      (401, Self.v1(5, password: .string(String(secret.dropLast())))),
      (401, Self.v1(5, password: .array([.string(secret)]))), (401, Self.v1(5, password: nil)),
      (400, Self.v1(6, more: [("more", .object([("password", .string(secret))]))])),
      (400, Self.v1(6, more: [("more", .array([.object([("password", .string(secret))])]))])),
      (400, Array(twice.utf8)), (400, Array(escaped.utf8)),
      (400, Array(text.dropLast(3).utf8)), (400, Array("[\"\(secret)\",\"\(Self.account)\"]".utf8)),
      (401, Array(good.dropLast(8)) + Array("AAAAAA\"}".utf8)),
      (400, Array("{\"signedPayload\":\"\(secret).\(Self.account).\(Self.token)\"}".utf8)),
      (400, Array("{\"signedPayload\":\"a.b.c\",\"password\":\"\(secret)\"}".utf8)),
    ]
  }

  // MARK: Doors

  private func ask(_ daemon: RunningDaemon, _ said: Sayings) {
    let client = daemon.client()
    let (token, account) = (Self.token, Self.account)
    for path in ["/v1/entitlements/7000", "/v1/entitlements/7300/history?raw=true"] {
      let answer = client.get(path, token: token)
      #expect(answer?.status == 200, "\(path)")
      said.addOfCustomers(path, answer?.text ?? "")
    }
    let list = client.get("/v1/entitlements?app_account_token=\(account)", token: token)
    #expect(list?.json?["items"]?.elements.isEmpty == false)
    for path in ["/metrics", "/version", "/healthz", "/readyz"] {
      said.add(path, client.get(path, token: token))
    }
    for (path, given) in [
      ("/v1/entitlements/7000", token + "x"), ("/v1/entitlements/7000?token=\(token)", ""),
      ("/v1/entitlements?access_token=\(token)&x=\(account)", token),
      ("/v1/entitlements/\(account)", token), ("/v1/entitlements/\(Self.secret)/history", token),
      ("/v1/entitlements?app_account_token=\(account)x&after=\(token)", token),
      ("/\(token)/\(account)/\(Self.secret)", token), ("/v1/notifications", token),
      ("/v1/entitlements/7000?as_of=\(account)&known_at=\(Self.secret)", token),
    ] {
      let answer = client.get(path, token: given)
      #expect(answer.map { $0.status >= 400 } ?? false, "\(path)")
      said.add(path, answer)
    }
    for fields in [
      ["X-\(token): \(account)"], ["User-Agent: \(Self.secret)", "Cookie: \(token)"],
      ["Content-Type: \(account)"], ["Authorization: Basic \(token)"], ["\(token) : x"],
      ["Transfer-Encoding: \(token)"], ["Expect: \(account)"],
    ] { said.add("\(fields)", daemon.client().ask("POST", "/v1/notifications", fields)) }
  }

  private func run(_ installation: Installation, _ said: Sayings) throws {
    let folder = installation.folder.path
    let lines = try installation.file(
      "lines.ndjson",
      try bodies(installation).map(\.1).filter { !$0.contains(0x0A) }
        + [Self.v1(20), try installation.sign(Self.v2(21))])
    for words in [
      ["ingest", lines, "--skip-bad", "--json"], ["ingest", lines], ["events", "--json"],
      ["events"], ["quarantine", "list", "--json"], ["quarantine", "list"], ["verify", "--json"],
      ["verify"], ["backup", folder + "/backup"], ["anchor"], ["rebuild"], ["rebuild", "--list"],
      ["version"], ["entitlement", Self.secret], ["history", Self.token], ["serve", Self.token],
      ["explain", Self.account], ["quarantine", "admit", "1"], ["quarantine", "admit", Self.token],
      ["export", "--only", "7300", "--bundle", folder + "/evidence"],
      ["verify", "--bundle", folder + "/evidence"],
      ["export", "--compress", "--output", folder + "/all.zst"],
    ] {
      let finished = try installation.launch(words + ["--config", installation.config.path])
        .finish()
      // What the operator typed is theirs; the rest of what is said is not.
      let typed = Set(words)
      guard typed.isDisjoint(with: [Self.secret, Self.token, Self.account]) else { continue }
      said.add(words.joined(separator: " "), finished)
    }
    for words in [
      ["entitlement", "7000"], ["history", "7300", "--raw", "--json"], ["history", "7300"],
      ["explain", "7300"], ["explain", "7000", "--json"], ["export"],
    ] {
      let finished = try installation.launch(words + ["--config", installation.config.path])
        .finish()
      said.addOfCustomers(words.joined(separator: " "), finished.output)
      said.add(words[0], Finished(code: 0, output: "", errors: finished.errors))
    }
  }

  // MARK: Looking

  private func look(_ installation: Installation, _ said: Sayings, _ logs: [String]) throws {
    for (from, text) in said.all {
      for canary in [Self.secret, Self.token, Self.account] {
        #expect(!text.contains(canary), "\(from) says \(canary)")
      }
    }
    for (from, text) in said.ofCustomers {
      #expect(!text.contains(Self.secret) && !text.contains(Self.token), "\(from)")
    }
    for log in logs {
      for canary in [Self.secret, Self.token, Self.account] {
        #expect(!log.contains(canary), "a log has \(canary)")
      }
    }
    let inputs: Set = ["app.secret", "config.json", "lines.ndjson"]
    for name in try FileManager.default.subpathsOfDirectory(atPath: installation.folder.path)
    where !inputs.contains(name) && !name.hasSuffix(".out") && !name.hasSuffix(".err") {
      let url = installation.folder.appending(path: name)
      guard let bytes = try? Data(wholeOf: url) else { continue }
      for canary in [Self.secret, Self.token] {
        #expect(bytes.range(of: Data(canary.utf8)) == nil, "\(name) has \(canary)")
      }
    }
    try lookIntoBodies(installation)
  }

  /// Bodies are compressed in the files.
  private func lookIntoBodies(_ installation: Installation) throws {
    for path in [installation.data.path, installation.folder.path + "/backup"] {
      let folder = DataFolder(path: path)
      let reader = try JournalReader.open(folder)
      defer { reader.close() }
      let events = try reader.events(after: 0, limit: 1_000)
      let kept = try reader.quarantined(limit: 1_000)
      #expect(events.count >= 4 && kept.count >= 2)
      for body in events.map(\.body) + kept.map(\.body) {
        let body = Data(body)
        #expect(body.range(of: Data(Self.secret.utf8)) == nil)
        #expect(body.range(of: Data(Self.token.utf8)) == nil)
        #expect(body.range(of: Data("password".utf8)) == nil)
      }
    }
  }

  @Test func throughEveryDoorAndFoundNowhere() throws {
    let installation = try installation()
    // The crash is meant: no sanitizer shall report it.
    installation.environment["SWIFT_BACKTRACE"] = ""
    let said = Sayings()
    var logs: [String] = []
    for ending in [SIGKILL, SIGSEGV, SIGTERM] {
      let daemon = try installation.start()
      let client = daemon.client()
      for (place, (status, body)) in try bodies(installation).enumerated() {
        let answer = client.post(body) ?? daemon.client().post(body)
        #expect(answer?.status == status, "body \(place)")
        said.add("body \(place)", answer)
      }
      ask(daemon, said)
      if ending == SIGKILL { try run(installation, said) }
      daemon.command.signal(ending)
      _ = try daemon.command.finish(within: 30)
      logs.append(daemon.log)
    }
    try lookAtDamage(installation, said)
    try look(installation, said, logs)
  }

  /// What is damaged is named by its place.
  private func lookAtDamage(_ installation: Installation, _ said: Sayings) throws {
    let copy = try installation.copy()
    try copy.configure()
    var bytes = try Data(contentsOf: copy.journal)
    // A body that two kept: of the last page a good part.
    for place in stride(from: bytes.count - 3_000, to: bytes.count - 2_000, by: 90) {
      bytes[place] ^= 0x10
    }
    try bytes.write(to: copy.journal)
    for words in [["verify"], ["verify", "--json"], ["history", "7300"], ["export"], ["serve"]] {
      let running = try copy.launch(words + ["--config", copy.config.path])
      if words == ["serve"] {
        usleep(500_000)
        running.signal(SIGTERM)
      }
      let finished = try running.finish()
      said.add("damaged", Finished(code: 0, output: "", errors: finished.errors))
      if words[0] == "verify" { said.add("damaged", finished) }
    }
  }
}
