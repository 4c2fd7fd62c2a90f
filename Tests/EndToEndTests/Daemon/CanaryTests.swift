import Foundation
import Store
import StrictJSON
import Support
import Testing

/// Sends a V1 secret, a read token and an account token through every interface, in valid and
/// invalid requests; then searches every file, log and answer for them.
@Suite struct CanaryTests {
  private static let secret = "canary5e1f0c2ad9b84e6fb7aa01d3c4e5f607"
  private static let token = "canary-token-0f9e8d7c6b5a"
  private static let account = "ca11ab1e-0000-4000-8000-00000000beef"

  /// Everything that daemon and commands answered and printed, with its source.
  private final class Outputs {
    private(set) var all: [(from: String, text: String)] = []
    /// What may contain the account token: rows, timelines, exports.
    private(set) var customerData: [(from: String, text: String)] = []

    func add(_ from: String, _ answer: Client.Answer?) {
      guard let answer else { return }
      all.append((from, answer.head + answer.text))
    }

    func add(_ from: String, _ finished: CommandResult) {
      all.append((from, finished.errors))
      all.append((from, finished.output))
    }

    func addCustomerData(_ from: String, _ text: String) { customerData.append((from, text)) }
  }

  private func installation() throws -> Installation {
    let installation = try Installation()
    let secrets = installation.folder.appending(path: "app.secret")
    try Data((Self.secret + "\n").utf8).write(to: secrets)
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: secrets.path)
    guard case .object(let members) = Installation.app() else { throw TestFailure("no object") }
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

  /// Bodies with the statuses they are answered with.
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

  // MARK: Interfaces

  private func ask(_ daemon: RunningDaemon, _ outputs: Outputs) {
    let client = daemon.client()
    let (token, account) = (Self.token, Self.account)
    for path in ["/v1/entitlements/7000", "/v1/entitlements/7300/history?raw=true"] {
      let answer = client.get(path, token: token)
      #expect(answer?.status == 200, "\(path)")
      outputs.addCustomerData(path, answer?.text ?? "")
    }
    let list = client.get("/v1/entitlements?app_account_token=\(account)", token: token)
    #expect(list?.json?["items"]?.elements.isEmpty == false)
    for path in ["/metrics", "/version", "/healthz", "/readyz"] {
      outputs.add(path, client.get(path, token: token))
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
      outputs.add(path, answer)
    }
    for fields in [
      ["X-\(token): \(account)"], ["User-Agent: \(Self.secret)", "Cookie: \(token)"],
      ["Content-Type: \(account)"], ["Authorization: Basic \(token)"], ["\(token) : x"],
      ["Transfer-Encoding: \(token)"], ["Expect: \(account)"],
    ] { outputs.add("\(fields)", daemon.client().ask("POST", "/v1/notifications", fields)) }
  }

  private func run(_ installation: Installation, _ outputs: Outputs) throws {
    let folder = installation.folder.path
    let lines = try installation.file(
      "lines.ndjson",
      try bodies(installation).map(\.1).filter { !$0.contains(0x0A) }
        + [Self.v1(20), try installation.sign(Self.v2(21))])
    for arguments in [
      ["ingest", lines, "--skip-bad", "--json"], ["ingest", lines], ["events", "--json"],
      ["events"], ["quarantine", "list", "--json"], ["quarantine", "list"], ["verify", "--json"],
      ["verify"], ["backup", folder + "/backup"], ["anchor"], ["rebuild"],
      ["version"], ["entitlement", Self.secret], ["history", Self.token], ["serve", Self.token],
      ["explain", Self.account], ["quarantine", "admit", "1"], ["quarantine", "admit", Self.token],
      ["export", "--only", "7300", "--bundle", folder + "/evidence"],
      ["verify", "--bundle", folder + "/evidence"],
      ["export", "--compress", "--output", folder + "/all.zst"],
    ] {
      let finished = try installation.launch(arguments + ["--config", installation.config.path])
        .finish()
      // An error may repeat the operator's own arguments.
      let typed = Set(arguments)
      guard typed.isDisjoint(with: [Self.secret, Self.token, Self.account]) else { continue }
      outputs.add(arguments.joined(separator: " "), finished)
    }
    for arguments in [
      ["entitlement", "7000"], ["history", "7300", "--raw", "--json"], ["history", "7300"],
      ["explain", "7300"], ["explain", "7000", "--json"], ["export"],
    ] {
      let finished = try installation.launch(arguments + ["--config", installation.config.path])
        .finish()
      outputs.addCustomerData(arguments.joined(separator: " "), finished.output)
      outputs.add(arguments[0], CommandResult(code: 0, output: "", errors: finished.errors))
    }
  }

  // MARK: Search

  private func search(_ installation: Installation, _ outputs: Outputs, _ logs: [String]) throws {
    for (from, text) in outputs.all {
      for canary in [Self.secret, Self.token, Self.account] {
        #expect(!text.contains(canary), "\(from) contains \(canary)")
      }
    }
    for (from, text) in outputs.customerData {
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
    try searchBodies(installation)
  }

  /// Bodies are compressed in the files, so they are read with the journal's reader.
  private func searchBodies(_ installation: Installation) throws {
    for path in [installation.data.path, installation.folder.path + "/backup"] {
      let folder = DataFolder(path: path)
      let reader = try JournalReader.open(folder)
      defer { reader.close() }
      let events = try reader.events(after: 0, limit: 1_000)
      let quarantined = try reader.quarantined(limit: 1_000)
      #expect(events.count >= 4 && quarantined.count >= 2)
      for body in events.map(\.body) + quarantined.map(\.body) {
        let body = Data(body)
        #expect(body.range(of: Data(Self.secret.utf8)) == nil)
        #expect(body.range(of: Data(Self.token.utf8)) == nil)
        #expect(body.range(of: Data("password".utf8)) == nil)
      }
    }
  }

  @Test func `secrets sent through every interface are found nowhere`() throws {
    let installation = try installation()
    // The crash is intended: a sanitizer must not report it.
    installation.environment["SWIFT_BACKTRACE"] = ""
    let outputs = Outputs()
    var logs: [String] = []
    for signal in [SIGKILL, SIGSEGV, SIGTERM] {
      let daemon = try installation.start()
      let client = daemon.client()
      for (index, (status, body)) in try bodies(installation).enumerated() {
        let answer = client.post(body) ?? daemon.client().post(body)
        #expect(answer?.status == status, "body \(index)")
        outputs.add("body \(index)", answer)
      }
      ask(daemon, outputs)
      if signal == SIGKILL { try run(installation, outputs) }
      daemon.command.signal(signal)
      _ = try daemon.command.finish(within: 30)
      logs.append(daemon.log)
    }
    try damageJournal(installation, outputs)
    try search(installation, outputs, logs)
  }

  /// Errors about damaged data name its position, not its content.
  private func damageJournal(_ installation: Installation, _ outputs: Outputs) throws {
    let copy = try installation.copy()
    try copy.configure()
    var bytes = try Data(contentsOf: copy.journal)
    // A large part of the last page, which holds bodies.
    for offset in stride(from: bytes.count - 3_000, to: bytes.count - 2_000, by: 90) {
      bytes[offset] ^= 0x10
    }
    try bytes.write(to: copy.journal)
    for arguments in [
      ["verify"], ["verify", "--json"], ["history", "7300"], ["export"], ["serve"],
    ] {
      let running = try copy.launch(arguments + ["--config", copy.config.path])
      if arguments == ["serve"] {
        usleep(500_000)
        running.signal(SIGTERM)
      }
      let finished = try running.finish()
      outputs.add("damaged", CommandResult(code: 0, output: "", errors: finished.errors))
      if arguments[0] == "verify" { outputs.add("damaged", finished) }
    }
  }
}
