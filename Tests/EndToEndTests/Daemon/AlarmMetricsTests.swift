import Foundation
import StrictJSON
import Support
import Testing

/// What an operator alarms on: the metrics that say when Apple last posted, what is kept and what
/// is wrong, and the log lines beside them.
@Suite struct AlarmMetricsTests {
  private let installation: Installation

  init() throws { installation = try Installation() }

  private static let app = "com.example.app"

  private func read(_ daemon: RunningDaemon) throws -> MetricsText {
    let metrics = MetricsText(try #require(daemon.client().get("/metrics")).text)
    #expect(metrics.faults.isEmpty, "\(metrics.faults)")
    return metrics
  }

  /// Waits until a count in the background shows this value.
  private func wait(
    _ daemon: RunningDaemon, for name: String, _ labels: [String: String] = [:], _ value: Double
  ) throws {
    try daemon.command.wait(20, "\(name)\(labels) to be \(value)") {
      try read(daemon).value(name, labels) == value
    }
  }

  private func lines(_ daemon: RunningDaemon, _ event: String) -> [JSONElement] {
    daemon.log.split(separator: "\n").compactMap {
      try? JSONDocument(parsing: Array($0.utf8)).root
    }.filter { $0["event"]?.string == event }
  }

  private static func now() -> Double { Date().timeIntervalSince1970 }

  @Test func `each has its samples from the start`() throws {
    let daemon = try installation.startWithoutProjection()
    let metrics = try read(daemon)
    #expect(metrics.value("subledger_ready") == 1)
    for (name, label, values) in [
      (
        "subledger_unready", "reason",
        [
          "disk_floor", "disk_full", "journal", "journal_stalled", "shared_journal",
          "shutting_down",
        ]
      ),
      (
        "subledger_store_errors_total", "part",
        [
          "journal", "projection", "reads", "recovery", "customers", "sinks", "mirrors", "anchors",
          "shared_journal",
        ]
      ),
      (
        "subledger_owner_faults_total", "reason",
        [
          "v1_secret", "chain_root", "chain_path", "other_app", "other_app_apple_id",
          "other_environment", "no_app",
        ]
      ),
      (
        "subledger_quarantined", "reason",
        ["conflict", "other_app", "other_app_apple_id", "other_environment"]
      ),
      (
        "subledger_shared_journal_faults", "kind",
        ["broken_event", "unproven_event", "skipped_note"]
      ),
    ] {
      #expect(metrics.families[name]?.samples.count == values.count, "\(name)")
      for value in values { #expect(metrics.value(name, [label: value]) == 0, "\(name) \(value)") }
    }
    for name in [
      "subledger_disk_full", "subledger_unmapped_products", "subledger_rows_broken",
    ] { #expect(metrics.value(name) == 0, "\(name)") }
    #expect((metrics.value("subledger_disk_free_bytes") ?? 0) > 0)
    for environment in ["Production", "Sandbox"] {
      let labels = ["app": Self.app, "environment": environment]
      #expect(metrics.value("subledger_last_notification_time_seconds", labels) == 0)
      #expect(metrics.value("subledger_last_test_time_seconds", labels) == 0)
    }
    try daemon.stop()
  }

  private static let last = "subledger_last_notification_time_seconds"
  private static let lastTest = "subledger_last_test_time_seconds"
  private static let production = ["app": app, "environment": "Production"]

  private func test(_ number: Int) throws -> [UInt8] {
    try installation.sign(
      Sample.notification(number, type: "TEST").setting("data.transaction", nil)
        .setting("data.renewalInfo", nil).setting("data.status", nil))
  }

  @Test func `only what Apple posts is a sign of life, new or again`() throws {
    let daemon = try installation.start()
    let client = daemon.client()
    let first = try installation.sign(Sample.notification(1))
    let before = Self.now()
    #expect(client.post(first)?.status == 200)
    let posted = try #require(try read(daemon).value(Self.last, Self.production))
    #expect(posted >= before - 1 && posted <= Self.now() + 1)
    let sandbox = ["app": Self.app, "environment": "Sandbox"]
    #expect(try read(daemon).value(Self.last, sandbox) == 0)
    // A file of bodies, and one of what came from Apple's history.
    let plain = try installation.file("more", [installation.sign(Sample.notification(2))])
    #expect(try installation.run("ingest", plain).code == 0)
    let body = String(decoding: try installation.sign(Sample.notification(3)), as: UTF8.self)
    let line = Array("{\"arrival\":\"history\",\"body\":\(body)}".utf8)
    #expect(try installation.run("ingest", try installation.file("history", [line])).code == 0)
    // What is refused, and Apple's test.
    let foreign = try installation.sign(Sample.notification(4, bundleId: "com.foreign"))
    #expect(client.post(foreign)?.status == 422)
    #expect(try read(daemon).value(Self.lastTest, Self.production) == 0)
    #expect(client.post(try test(5))?.status == 200)
    #expect(try read(daemon).value(Self.last, Self.production) == posted)
    #expect((try read(daemon).value(Self.lastTest, Self.production) ?? 0) >= posted)
    // The same again.
    usleep(20_000)
    let again = Self.now()
    #expect(client.post(first)?.json?["outcome"]?.string == "duplicate")
    #expect((try read(daemon).value(Self.last, Self.production) ?? 0) >= again - 0.001)
    try daemon.stop()
  }

  @Test func `both times are there after a restart`() throws {
    let daemon = try installation.start()
    let client = daemon.client()
    #expect(client.post(try installation.sign(Sample.notification(1)))?.status == 200)
    #expect(client.post(try test(2))?.status == 200)
    let times = try [Self.last, Self.lastTest].map {
      try #require(try read(daemon).value($0, Self.production))
    }
    // Behind it is what came from Apple's history.
    let lines = try (0..<9).map { number in
      let body = try installation.sign(Sample.notification(100 + number, otid: "80\(number)"))
      return Array("{\"arrival\":\"history\",\"body\":".utf8) + body + Array("}".utf8)
    }
    #expect(try installation.run("ingest", try installation.file("history", lines)).code == 0)
    try daemon.crash()
    let after = try installation.start()
    for (name, time) in zip([Self.last, Self.lastTest], times) {
      try after.command.wait(20, name) {
        abs((try read(after).value(name, Self.production) ?? 0) - time) < 1
      }
    }
    try after.stop()
  }

  @Test func `quarantine and unmapped products are counted`() throws {
    try installation.configure(
      with: [("entitlements", .object([("gold", .array([.string("gold.*")]))]))])
    let daemon = try installation.start()
    let client = daemon.client()
    #expect(client.post(try installation.sign(Sample.notification(1)))?.status == 200)
    let foreign = try installation.sign(Sample.notification(2, bundleId: "com.foreign"))
    #expect(client.post(foreign)?.status == 422)
    try wait(daemon, for: "subledger_quarantined", ["reason": "other_app"], 1)
    try wait(daemon, for: "subledger_unmapped_products", [:], 1)
    #expect(try installation.run("quarantine", "drop", "--reason", "other_app").code == 0)
    try wait(daemon, for: "subledger_quarantined", ["reason": "other_app"], 0)
    try installation.configure(
      with: [("entitlements", .object([("pro", .array([.string("pro.*")]))]))])
    daemon.command.signal(SIGHUP)
    try wait(daemon, for: "subledger_unmapped_products", [:], 0)
    try daemon.stop()
  }

  @Test func `readiness is a metric with the reason of readyz`() throws {
    try installation.configure(with: [
      ("limits", .object([("diskBytes", .integer(1_000_000_000_000_000))]))
    ])
    let daemon = try installation.startWithoutProjection()
    let metrics = try read(daemon)
    #expect(metrics.value("subledger_ready") == 0)
    #expect(metrics.value("subledger_unready", ["reason": "disk_floor"]) == 1)
    #expect(metrics.sum("subledger_unready") == 1)
    try daemon.stop()
  }

  /// Apple may not repeat what was answered 4xx.
  @Test func `a mistake of the owner is counted, and warned of with the way back`() throws {
    let secret = installation.folder.appending(path: "app.secret")
    try Data("the-right-secret\n".utf8).write(to: secret)
    chmod(secret.path, 0o600)
    try installation.configure(apps: [
      Installation.app().setting("v1SharedSecretFile", .string(secret.path))
        .setting("environments", .array([.string("Production")]))
    ])
    let daemon = try installation.start()
    let client = daemon.client()
    let wrong = JSONValue.object([
      ("notification_type", .string("DID_RENEW")), ("environment", .string("PROD")),
      ("password", .string("the-wrong-secret")), ("bid", .string(Self.app)),
      ("unified_receipt", .object([])),
    ]).bytes
    for _ in 0..<5 { #expect(client.post(wrong)?.status == 401) }
    let sandbox = Sample.notification(1, environment: "Sandbox")
    #expect(client.post(try installation.sign(sandbox))?.status == 422)
    #expect(client.post(try Installation().sign(Sample.notification(2)))?.status == 401)
    // Nobody's mistake.
    #expect(client.post(Array("{}".utf8))?.status == 400)
    let metrics = try read(daemon)
    let name = "subledger_owner_faults_total"
    #expect(metrics.value(name, ["reason": "v1_secret"]) == 5)
    #expect(metrics.value(name, ["reason": "other_environment"]) == 1)
    #expect(metrics.value(name, ["reason": "chain_path"]) == 1)
    #expect(metrics.sum(name) == 7)
    try daemon.stop()
    let warnings = lines(daemon, "owner_fault")
    #expect(
      warnings.compactMap { $0["reason"]?.string }
        == ["v1_secret", "other_environment", "chain_path"])
    for warning in warnings {
      #expect(warning["level"]?.string == "warning")
      let next = try #require(warning["next"]?.string)
      let command = try #require(next.firstMatch(of: /subledger recover (--since \S+)$/))
      // The line is a command that is understood: without a key, Apple cannot be asked.
      let tried = try installation.run(
        ["recover"] + command.1.split(separator: " ").map(String.init))
      #expect(tried.code == 2 && tried.errors.contains("appStore"), "\(next) \(tried)")
    }
    let kept = try #require(warnings.dropFirst().first)
    #expect(kept["next"]?.string?.contains("quarantine admit --reason other_env") == true)
    #expect(kept["bundle_id"]?.string == Self.app)
    let sums = lines(daemon, "owner_faults_left_out")
    #expect(sums.compactMap { $0["reason"]?.string } == ["v1_secret"])
    #expect(sums.first?["count"]?.integer == 4)
  }
}
