import Foundation
import StrictJSON
import Support
import Testing

/// Scenarios of customers and what they must give, over HTTP and by the command, in many orders of
/// arrival and with duplicates (promises 4, 6 and 8). Afterwards no file and no log line contains
/// the shared secret of version 1.
@Suite struct ScenarioTests {
  /// How many orders of arrival a scenario is tried in at most.
  private static let orders = TestCount.orders.number
  private static let parts = 4

  private static func runs(part: Int) throws -> [[ScenarioRun]] {
    try PostedScenario.all().enumerated().filter { $0.offset % parts == part }.map {
      number, scenario in
      ScenarioRun.orders(of: scenario.events.count, most: orders, seed: UInt64(number))
        .enumerated().map { ScenarioRun(scenario: scenario, number: number * 100 + $0, order: $1) }
    }
  }

  private static func installation() throws -> Installation {
    let installation = try Installation()
    let secret = installation.folder.appending(path: "v1.secret")
    try Data((ScenarioRun.secretV1 + "\n").utf8).write(to: secret)
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: secret.path)
    let submit = ("may", JSONValue.array([.string("submit")]))
    func products(_ names: String...) -> JSONValue { .array(names.map(JSONValue.string)) }
    try installation.configure(
      apps: [
        Installation.app().setting("v1SharedSecretFile", .string(secret.path)),
        Installation.app("com.example.other", id: 222),
      ],
      with: [
        (
          "readTokens",
          .array([
            Installation.token("backend", Installation.token, []),
            Installation.token("app", ScenarioRun.submitter, [submit]),
          ])
        ),
        (
          "entitlements",
          .object([
            ("pro", products("pro.*")), ("coins", products("coins.*")),
            ("any", products("basic.*", "pro.*", "other.*", "coins.*", "lifetime")),
          ])
        ),
      ])
    return installation
  }

  /// In parts, which run in parallel.
  @Test(arguments: 0..<parts)
  func `every scenario gives its answers in every order of arrival`(part: Int) throws {
    let installation = try Self.installation()
    let daemon = try installation.start()
    let client = daemon.client()
    let scenarios = try Self.runs(part: part)
    for run in scenarios.joined() { try deliver(run, installation, client) }
    for runs in scenarios {
      for run in runs { ask(run, client) }
      compareRowsOfNow(runs, client)
      askByName(runs[runs.count - 1], client)
    }
    // The command reads the files, while the daemon runs and after it has stopped.
    for runs in scenarios.prefix(scenarios.count / 2) { try askByCommand(runs[0], installation) }
    #expect(try daemon.stop().code == 0)
    for runs in scenarios.dropFirst(scenarios.count / 2) {
      try askByCommand(runs[0], installation)
    }
    #expect(try installation.verify().code == 0)
    for (name, bytes) in try installation.files() {
      let secret = Data(ScenarioRun.secretV1.utf8)
      #expect(bytes.range(of: secret) == nil, "the secret is in \(name)")
    }
    #expect(!daemon.log.contains(ScenarioRun.secretV1))
  }

  /// Posts every event in the run's order, and some of those before again.
  private func deliver(
    _ run: ScenarioRun, _ installation: Installation, _ client: Client
  ) throws {
    var random = SplitMix64(seed: UInt64(run.number))
    var posted: [ScenarioRun.Request] = []
    for index in run.order {
      posted.append(try run.request(index, installation))
      try post(posted[posted.count - 1], of: run, client)
      if random.once(in: 2) { try post(random.pick(posted), of: run, client) }
    }
  }

  private func post(
    _ request: ScenarioRun.Request, of run: ScenarioRun, _ client: Client
  ) throws {
    let head =
      "POST \(request.path) HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
      + "Authorization: Bearer \(ScenarioRun.submitter)\r\n"
      + "Content-Length: \(request.body.count)\r\n\r\n"
    let answer = try #require(client.send(head, request.body), "\(run.name)")
    #expect(answer.status == 200, "\(run.name): \(answer.text)")
  }

  // MARK: Answers

  private func ask(_ run: ScenarioRun, _ client: Client) {
    for answer in run.scenario.answers {
      for time in times(answer) {
        let got = client.get(path(answer, time, of: run))
        let differences = differences(got?.json, from: expected(answer, of: run))
        #expect(differences.isEmpty, "\(run.name), as of \(time): \(differences)")
      }
    }
  }

  private func times(_ answer: JSONValue) -> [String] {
    let times = answer["as_of"]?.values ?? []
    return (times + [answer["as_of"] ?? .null]).compactMap(\.string)
  }

  private func path(_ answer: JSONValue, _ time: String, of run: ScenarioRun) -> String {
    var query = ["environment=\(answer["environment"]?.string ?? run.scenario.environment)"]
    if time != "now" { query.append("as_of=\(time)") }
    if let bundleId = answer["bundle_id"]?.string { query.append("bundle_id=\(bundleId)") }
    let by = answer["by"]?.string
    if let by { query.append("by=\(by)") }
    let id = answer["customer"]?.string ?? answer["original_transaction_id"]?.string ?? "1000"
    let own = by == "app_account_token" ? run.token(id) : run.prefix + id
    return "/v1/\(by == nil ? "entitlements" : "customers")/\(own)?\(query.joined(separator: "&"))"
  }

  /// The members that an answer must have.
  private func expected(_ answer: JSONValue, of run: ScenarioRun) -> JSONValue {
    let usual = JSONValue.object([
      ("grace_period_expires_at", .null), ("pending_product_id", .null), ("revoked_at", .null),
      ("gap", .boolean(false)),
    ])
    let told = answer["row"].map(usual.with) ?? answer["part"] ?? answer["expect"]
    return run.own(told ?? answer["refused"] ?? .null)
  }

  private func differences(_ got: JSONElement?, from expected: JSONValue) -> [String] {
    guard case .object(let members) = expected else {
      let text = got?.value.text ?? "absent"
      return text == expected.text ? [] : ["is \(text) and must be \(expected.text)"]
    }
    return members.flatMap { name, value in
      differences(got?[name], from: value).map { "\(name) \($0)" }
    }
  }

  /// What is answered now depends on the order of arrival in nothing but what is about arrival.
  private func compareRowsOfNow(_ runs: [ScenarioRun], _ client: Client) {
    let aboutArrival = ["as_of", "confirmed_at", "event_count", "last_event"]
    let rows = runs.map { run in
      Set(run.scenario.rows.map { path($0, "now", of: run) }).sorted().map { path in
        let row = client.get(path)?.json?.value ?? .null
        return aboutArrival.reduce(row) { $0.setting($1, nil) }.text
          .replacingOccurrences(of: run.prefix, with: "")
      }
    }
    for (run, row) in zip(runs, rows) { #expect(row == rows[0], "\(run.name)") }
  }

  /// A customer with one purchase has what its row gives.
  private func askByName(_ run: ScenarioRun, _ client: Client) {
    let ids = Set(run.scenario.answers.map { "\($0["original_transaction_id"]?.text ?? "")" })
    guard ids.count == 1 else { return }
    for answer in run.scenario.rows {
      guard let access = expected(answer, of: run)["gives_access"] else { continue }
      let question = answer.setting("by", .string("original_transaction_id"))
      for time in times(answer) {
        let named = client.get(path(question, time, of: run))?.json?["entitlements"]?["any"]
        #expect(
          named?["active"]?.value == access, "\(run.name), as of \(time), by name: any active")
      }
    }
  }

  /// Each command finds out anew which fold it has, so that one time is asked for.
  private func askByCommand(_ run: ScenarioRun, _ installation: Installation) throws {
    guard let answer = run.scenario.rows.last(where: { times($0) != ["now"] }),
      let time = times(answer).first(where: { $0 != "now" })
    else { return }
    let finished = try installation.run(
      [
        "entitlement", run.prefix + (answer["original_transaction_id"]?.string ?? "1000"),
        "--environment", answer["environment"]?.string ?? run.scenario.environment,
        "--bundle-id", answer["bundle_id"]?.string ?? "com.example.app",
        "--as-of", time, "--json",
      ])
    #expect(finished.code == 0, "\(run.name): \(finished)")
    let differences = differences(try finished.lines().first, from: expected(answer, of: run))
    #expect(differences.isEmpty, "\(run.name), as of \(time), command: \(differences)")
  }
}
