import AppStoreSimulator
import Foundation
import StrictJSON
import Support
import Testing

/// `doctor`: what it finds, and that it finds nothing in a sound installation.
@Suite struct DoctorTests {
  /// One line of `doctor --json`.
  private struct Check: CustomStringConvertible {
    let topic: String, isFinding: Bool, what: String, next: String?
    var description: String { "\(topic): \(what) → \(next ?? "")" }
  }

  private func examine(_ installation: Installation, _ code: Int32? = nil) throws -> [Check] {
    let finished = try installation.run("doctor", "--json")
    let lines = try finished.lines()
    let checks = lines.dropLast().map { line in
      Check(
        topic: line["topic"]?.string ?? "", isFinding: line["finding"]?.boolean ?? false,
        what: line["what"]?.string ?? "", next: line["next"]?.string)
    }
    let findings = checks.filter(\.isFinding)
    #expect(lines.last?["findings"]?.integer == Int64(findings.count))
    #expect(finished.code == (findings.isEmpty ? 0 : 1), "\(finished)")
    if let code { #expect(finished.code == code, "\(findings)") }
    for finding in findings { #expect(finding.next?.isEmpty == false) }
    return checks
  }

  /// The findings, except that no daemon runs: most tests stop it first.
  private func findings(_ installation: Installation) throws -> [Check] {
    try examine(installation).filter { $0.isFinding && !$0.what.hasPrefix("no daemon runs") }
  }

  /// One app with only the Sandbox, so that the extra root of the tests is no finding; one token.
  private func sound() throws -> Installation {
    let installation = try Installation()
    try installation.configure(apps: [
      .object([
        ("bundleId", .string("com.example.app")), ("environments", .array([.string("Sandbox")])),
      ])
    ])
    try installation.configureTokens()
    return installation
  }

  private func post(_ installation: Installation, _ daemon: RunningDaemon, _ number: Int) throws {
    let body = try installation.sign(Sample.notification(number, environment: "Sandbox"))
    #expect(daemon.client().post(body)?.status == 200)
  }

  /// The files without `-shm`, which every reader of a write-ahead log writes to.
  private func content(_ installation: Installation) throws -> [String: Data] {
    try installation.files().filter { !$0.key.hasSuffix("-shm") }
  }

  @Test func `products that give no entitlement, or give it for ever, are found`() throws {
    let installation = try sound()
    let configure = { (more: [(String, JSONValue)]) in
      try installation.configure(
        apps: [
          .object([
            ("bundleId", .string("com.example.app")),
            ("environments", .array([.string("Sandbox")])),
          ])
        ], with: more)
      try installation.configureTokens()
    }
    let daemon = try installation.start()
    try post(installation, daemon, 1)
    for (number, product, type) in [
      (2, "pro.yearly", "Auto-Renewable Subscription"), (3, "season", "Non-Renewing Subscription"),
      (4, "coins", "Consumable"),
    ] {
      let body = Sample.notification(number, otid: "80\(number)", environment: "Sandbox")
        .setting("data.transaction.productId", .string(product))
        .setting("data.transaction.type", .string(type))
        .setting("data.renewalInfo.productId", .string(product))
      #expect(daemon.client().post(try installation.sign(body))?.status == 200)
    }
    try daemon.stop()
    #expect(try findings(installation).map(\.what).contains { $0.contains("for ever: season") })
    let mapped: [(String, JSONValue)] = [
      ("entitlements", .object([("pro", .array([.string("pro.monthly")]))])),
      ("nonRenewingDurations", .object([("season", .string("P90D"))])),
    ]
    try configure(mapped)
    let found = try findings(installation)
    #expect(
      found.map(\.what) == [
        "pro.yearly of com.example.app was sold and is mapped to nothing",
        "season of com.example.app was sold and is mapped to nothing",
      ], "\(found)")
    #expect(found.first?.next?.contains("\"pro\"") == true)
  }

  @Test func `a sound installation has no findings, and at rest that no daemon runs`() throws {
    let installation = try sound()
    let daemon = try installation.start()
    for number in 1...3 { try post(installation, daemon, number) }
    var before = try content(installation)
    let beside = try examine(installation, 0)
    #expect(beside.contains { $0.topic == "daemon" && $0.what == "ready" })
    #expect(beside.contains { $0.what.contains("3 events, a daemon runs") })
    let after = try content(installation)
    // The daemon makes its key and the first anchor when it comes to it.
    let changed = after.filter { !$0.key.hasPrefix("anchor") && before[$0.key] != $0.value }
    #expect(changed.isEmpty, "\(changed.keys)")
    #expect(try daemon.stop().code == 0)
    before = try content(installation)
    let atRest = try examine(installation, 1)
    #expect(try content(installation) == before)
    let down = atRest.filter(\.isFinding)
    #expect(down.count == 1 && down.first?.topic == "daemon", "\(down)")
    #expect(
      down.first?.what
        == "no daemon runs on \(installation.data.path): what Apple sends is not received")
    for topic in [
      "configuration", "permissions", "clock", "disk", "libraries", "roots", "journal", "chains",
      "arrivals", "quarantine", "rows", "anchors",
    ] {
      #expect(atRest.contains { $0.topic == topic }, "\(topic)")
    }
    #expect(atRest.contains { $0.what.contains("1 certificate chain in the newest 3 events") })
    #expect(atRest.contains { $0.what.contains("SQLite 3.") && $0.what.contains("OpenSSL 3.") })
    let text = try installation.run("doctor")
    #expect(text.code == 1 && text.output.hasSuffix("1 finding\n"))
  }

  @Test func `an extra root trusted for Production is a finding`() throws {
    let installation = try Installation()
    let found = try findings(installation).filter { $0.topic == "roots" }
    #expect(
      found.count == 1 && found.first?.what.contains("trusted for Production") == true, "\(found)")
    #expect(found.first?.next?.contains("trustRoots") == true)
  }

  @Test func `a refused or empty configuration is a finding`() throws {
    let installation = try Installation()
    try Data(#"{"lisen":"x"}"#.utf8).write(to: installation.config)
    let found = try findings(installation)
    #expect(found.map(\.topic) == ["configuration"] && found.first?.what.contains("lisen") == true)
    try Data("{}".utf8).write(to: installation.config)
    #expect(
      try findings(installation).filter { $0.topic == "configuration" }.map(\.what) == [
        "no app is configured: every notification goes to quarantine",
        "no read token is configured: every read answers 401",
      ])
  }

  @Test(.enabled(if: geteuid() == 0))
  func `root's doctor finds what the user of the daemon cannot read`() throws {
    let installation = try sound()
    let daemon = try installation.start()
    try post(installation, daemon, 1)
    #expect(try daemon.stop().code == 0)
    let user: UInt32 = 54_242
    let names = try FileManager.default.contentsOfDirectory(atPath: installation.data.path)
    for path in [installation.data.path] + names.map({ "\(installation.data.path)/\($0)" }) {
      #expect(chown(path, user, user) == 0)
    }
    let refused = try installation.run("doctor")
    #expect(refused.code == 1 && refused.errors.contains("as 54242 does"), "\(refused)")
    #expect(refused.output.contains("config.json: Permission denied"), "\(refused)")
    // As the page about keys has it: root's file, which a group of the daemon may read.
    #expect(chown(installation.config.path, 0, user) == 0)
    chmod(installation.config.path, 0o640)
    let found = try findings(installation)
    #expect(found.isEmpty, "\(found)")
  }

  @Test func `files open to others are findings`() throws {
    let installation = try sound()
    let daemon = try installation.start()
    try post(installation, daemon, 1)
    #expect(try daemon.stop().code == 0)
    chmod(installation.data.path, 0o755)
    chmod(installation.journal.path, 0o644)
    chmod(installation.config.path, 0o666)
    let found = try findings(installation).map(\.what)
    #expect(found.count == 3, "\(found)")
    #expect(found.contains { $0.contains("data is open to others (mode 0755)") })
    #expect(found.contains { $0.contains("journal.sqlite is open to others (mode 0644)") })
    #expect(found.contains { $0.contains("config.json can be changed by others (mode 0666)") })
  }

  @Test func `quarantined notifications and a silent new app are findings`() throws {
    let installation = try sound()
    let daemon = try installation.start()
    let body = try installation.sign(Sample.notification(1, bundleId: "com.foreign"))
    #expect(daemon.client().post(body)?.status == 422)
    #expect(try daemon.stop().code == 0)
    let found = try findings(installation)
    let kept = try #require(found.first { $0.topic == "quarantine" })
    #expect(kept.what == "1 stored: 1 other_app")
    #expect(
      kept.next?.contains("subledger quarantine admit --app com.foreign --reason other_app")
        == true,
      "\(kept)")
    #expect(
      found.contains { $0.topic == "arrivals" && $0.next?.contains("App Store Connect") == true })
    #expect(found.count == 2, "\(found)")
  }

  @Test func `an id that a stranger chose is one word of the command to copy`() throws {
    let installation = try sound()
    let daemon = try installation.start()
    let body = try installation.sign(Sample.notification(1, bundleId: "com.foreign;reboot"))
    #expect(daemon.client().post(body)?.status == 422)
    #expect(try daemon.stop().code == 0)
    let kept = try #require(try findings(installation).first { $0.topic == "quarantine" })
    #expect(kept.next?.contains("admit --app 'com.foreign;reboot' --reason") == true, "\(kept)")
  }

  @Test func `a missing projection is a finding`() throws {
    let installation = try sound()
    let daemon = try installation.start()
    try post(installation, daemon, 1)
    #expect(try daemon.stop().code == 0)
    try FileManager.default.removeItem(at: installation.data.appending(path: "projections"))
    let found = try findings(installation)
    #expect(found.map(\.topic) == ["rows"] && found.first?.next?.contains("rebuild") == true)
  }

  /// Twenty-five events of Production, one per minute, the last three days ago.
  @Test func `an unusual silence of an app is a finding`() throws {
    let installation = try Installation()
    let now = Int64(Date().timeIntervalSince1970 * 1000)
    func events(endingAt end: Int64) throws -> String {
      let lines = try (0..<25).map { number -> [UInt8] in
        let body = try installation.sign(Sample.notification(number, otid: "70\(number)"))
        let time = end - Int64(25 - number) * 60_000
        return Array("{\"received_at_ms\":\(time),\"body\":".utf8) + body + Array("}".utf8)
      }
      return try installation.file("old.ndjson", lines)
    }
    let file = try events(endingAt: now - 3 * 86_400_000)
    #expect(try installation.run("ingest", file).code == 0)
    let found = try findings(installation).filter { $0.topic == "arrivals" }
    #expect(found.count == 1, "\(found)")
    #expect(
      found.first?.what
        == "com.example.app Production: the last one 3 days ago; the longest pause among the last "
        + "25 was 60 seconds")
    // The same events up to now are no finding.
    try FileManager.default.removeItem(at: installation.data)
    #expect(try installation.run("ingest", try events(endingAt: now)).code == 0)
    #expect(try findings(installation).filter { $0.topic == "arrivals" }.isEmpty)
  }

  @Test func `a missing or badly chosen anchors file is a finding`() throws {
    let installation = try sound()
    let inside = installation.data.appending(path: "anchors.ndjson").path
    let file = installation.folder.appending(path: "anchors.ndjson").path
    let daemon = try installation.start()
    try post(installation, daemon, 1)
    #expect(try daemon.stop().code == 0)
    func anchored(_ path: String) throws {
      try installation.configure(
        apps: [
          .object([
            ("bundleId", .string("com.example.app")),
            ("environments", .array([.string("Sandbox")])),
          ])
        ], with: [("anchors", .object([("file", .string(path))]))])
      try installation.configureTokens()
    }
    try anchored(file)
    #expect(try findings(installation).map(\.what) == ["\(file) has no anchor of this journal"])
    let key = try installation.run("anchor", "--public-key").output.split(separator: "\n")
    #expect(try installation.run("anchor", "--append", file).code == 0)
    let good = try examine(installation).filter { $0.topic == "anchors" }
    #expect(good.contains { $0.what == "public key " + (key.dropFirst().first ?? "none") })
    #expect(good.contains { $0.what.hasPrefix("the last in \(file) is of seq 1, ") })
    try anchored(inside)
    #expect(
      try findings(installation).contains { $0.what.hasSuffix("is stored beside the journal") })
  }

  @Test func `what a wrong secret or an unknown root refuses is a finding, with what to do`() throws
  {
    let installation = try sound()
    let daemon = try installation.start()
    try post(installation, daemon, 1)
    #expect(try findings(installation).isEmpty)
    let client = daemon.client()
    let other = try SimulatedAuthority.make()
    let foreign = try other.sign(notification: Sample.notification(2, environment: "Sandbox"))
    #expect(client.post(foreign)?.status == 401)
    let old = #"{"notification_type":"CANCEL","environment":"Sandbox","password":"canary-91"}"#
    for _ in 0..<2 { #expect(client.post(Array(old.utf8))?.status == 401) }
    let found = try findings(installation)
    #expect(found.map(\.topic) == ["refusals", "refusals"])
    for check in found {
      let next = try #require(check.next)
      let since = try #require(next.firstMatch(of: /subledger recover --since ([0-9TZ:.-]+)/)?.1)
      #expect(check.what.contains(" since \(since). "), "\(check)")
      #expect(!check.description.contains("canary"))
    }
    #expect(found.last?.what.hasPrefix("v1_secret: 2 refusals since") == true, "\(found)")
    #expect(found.last?.next?.contains("v1SharedSecretFile") == true)
    #expect(found.last?.next?.hasSuffix("version 2 alone") == true)
    #expect(found.first?.what.hasPrefix("chain_path: 1 refusal since") == true)
    #expect(found.first?.what.hasSuffix("though one has that name.") == true)
    // What strangers can send at any time is counted, and no finding.
    #expect(client.post(Array("{}".utf8))?.status == 400)
    let counted = try examine(installation).filter { $0.topic == "refusals" }
    #expect(counted.count == 3 && counted[1].what.hasPrefix("envelope: 1 refusal since"))
    #expect(!counted[1].isFinding)
    #expect(try daemon.stop().code == 0)
  }

  @Test func `a daemon that is not ready is a finding`() throws {
    let installation = try Installation()
    try installation.configure(with: [
      ("limits", .object([("diskBytes", .integer(1_000_000_000_000_000))]))
    ])
    let daemon = try installation.startWithoutProjection()
    let found = try findings(installation)
    #expect(found.contains { $0.topic == "daemon" && $0.what == "not ready: disk_floor" })
    #expect(found.contains { $0.topic == "disk" && $0.what.contains("less than diskBytes") })
    try daemon.stop()
  }
}

extension Installation {
  /// One token that reads everything of the configured apps.
  fileprivate func configureTokens() throws {
    let root = try JSONDocument(parsing: Array(try Data(contentsOf: config))).root
    guard case .object(let members) = root.value else { throw TestFailure("the configuration") }
    let tokens = members.map { name, value -> (String, JSONValue) in
      guard name == "readTokens", case .array(let all) = value else { return (name, value) }
      return (name, .array(Array(all.prefix(1))))
    }
    try Data(JSONValue.object(tokens).bytes).write(to: config)
  }
}
