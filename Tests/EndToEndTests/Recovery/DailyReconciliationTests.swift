import Foundation
import StrictJSON
import Support
import Testing

/// What the daemon asks Apple once a day: about customers whose paid period ended without a word.
@Suite struct DailyReconciliationTests {
  private static let reconciledAt = "subledger_reconciliation_success_time_seconds"

  /// A ledger that has the first word of each customer alone, and whose last reconciliation was 25
  /// hours ago.
  static func begun() throws -> (store: PlayedStore, expected: [String]) {
    let played = try ImportTests.Played(
      customers: 40, days: 150, seed: 9, recover: "automatic")
    let installation = played.store.installation
    let first = try played.store.bodies().filter { ReconcileTests.type(of: $0) == "SUBSCRIBED" }
    #expect(try installation.run("ingest", try installation.file("first", first)).code == 0)
    let daemon = try installation.start()
    try wait(for: "subledger_recovery_success_time_seconds", daemon)
    let metrics = MetricsText(daemon.client().get("/metrics")?.text ?? "")
    #expect(metrics.value(reconciledAt) == 0)
    #expect(
      metrics.value("subledger_reconciliation_next_time_seconds") ?? 0
        > Date().timeIntervalSince1970)
    try daemon.stop()
    let heartbeat = installation.data.appending(path: "heartbeat.json")
    let text = try String(contentsOf: heartbeat, encoding: .utf8)
    let dayAgo = Int64(Date().timeIntervalSince1970 * 1000) - 25 * PlayedStore.hour
    let changed = text.replacingOccurrences(
      of: #""reconciled_at":null"#, with: #""reconciled_at":\#(dayAgo)"#)
    #expect(changed != text)
    try Data(changed.utf8).write(to: heartbeat)
    return (played.store, played.expected)
  }

  /// Waits until the time in a metric is of the last hour, or a counter is not 0.
  @discardableResult
  static func wait(for name: String, _ daemon: RunningDaemon) throws -> MetricsText {
    var metrics = MetricsText("\n")
    let least = name.hasSuffix("_seconds") ? Date().timeIntervalSince1970 - 3600 : 0
    try daemon.command.wait(60, name) {
      guard let answer = daemon.client().get("/metrics") else { return false }
      metrics = MetricsText(answer.text)
      return metrics.value(name) ?? 0 > least
    }
    #expect(metrics.faults.isEmpty)
    return metrics
  }

  /// Those that are due, by the stored rows alone.
  private static let due =
    "SELECT original_transaction_id FROM entitlement_v1 WHERE environment = 'Production' "
    + "AND status IN ('expired', 'billing_retry', 'grace_period') AND auto_renew = 1 "
    + "AND expires_at_ms < (unixepoch() - 86400) * 1000 AND last_signed_date_ms <= expires_at_ms"

  private func due(_ installation: Installation) throws -> Set<String> {
    let found = try installation.run("query", "--csv", Self.due)
    return Set(found.output.split(whereSeparator: \.isNewline).dropFirst().map(String.init))
  }

  private func recovery(_ daemon: RunningDaemon, token: String) throws -> JSONElement {
    let client = daemon.client()
    let answer = try #require(client.get("/v1/overview", token: token)?.json)
    let document = try #require(client.get("/openapi.json", token: nil)?.json)
    let schema = try #require(document["components"]?["schemas"]?["Overview"])
    #expect(try Shape(document: document).objections(answer, to: schema) == [])
    return try #require(answer["recovery"])
  }

  @Test func `a renewal that no notification told is learned by asking once a day`() throws {
    let (store, expected) = try Self.begun()
    let installation = store.installation
    let due = try due(installation)
    #expect(due.count > 5)
    let daemon = try installation.start()
    let metrics = try Self.wait(for: Self.reconciledAt, daemon)
    #expect(metrics.value("subledger_reconciled_total") ?? 0 >= Double(due.count))
    #expect(metrics.value("subledger_reconciled_differing_total") ?? 0 > 0)
    #expect(metrics.value("subledger_reconciled_events_total") ?? 0 > 0)
    #expect(metrics.value("subledger_reconciliation_failures_total") == 0)
    #expect(metrics.value("subledger_duplicates_total") == 0, "what is known is no duplicate")
    #expect(
      metrics.value("subledger_reconciliation_next_time_seconds") ?? 0
        > Date().timeIntervalSince1970 + 80_000)
    let line = try daemon.logged(#""event":"reconciled""#)
    #expect(line.contains(#""asked":"#) && line.contains(#""differed":"#))
    #expect(line.contains(#""journaled":"#) && line.contains(#""level":"info""#), "\(line)")
    let rows = Set(try ImportTests.rows(installation))
    for row in expected where due.contains(row.split(separator: ",").first.map(String.init) ?? "") {
      #expect(rows.contains(row), "\(row)")
    }
    let state = try recovery(daemon, token: Installation.token)
    let app = try #require(
      state["apps"]?.elements.first { $0["environment"]?.string == "Production" })
    #expect(app["recover"]?.string == "automatic")
    #expect(app["last_recovery"]?["reason"]?.string == "start")
    #expect(app["last_reconciliation"]?["asked"]?.integer ?? 0 >= Int64(due.count))
    #expect(app["last_reconciliation"]?["differed"]?.integer ?? 0 > 0)
    #expect(app["last_reconciliation"]?["error"]?.kind == .null)
    for time in ["recovered_at", "next_at", "reconciled_at", "next_reconciliation_at"] {
      #expect(state[time]?.integer ?? 0 > 0, "\(time)")
    }
    let sandbox = try recovery(daemon, token: Installation.sandboxToken)
    #expect(sandbox["apps"]?.elements.map { $0["environment"]?.string } == ["Sandbox"])
    #expect(try self.due(installation).isEmpty)
    #expect(try daemon.stop().code == 0)
    let again = try installation.run("reconcile", "--due")
    #expect(again.code == 0 && again.output.hasPrefix("0 customers"), "\(again)")
    // So that a restart does not ask again.
    let heartbeat = try #require(try installation.files()["heartbeat.json"])
    let stored = try JSONDocument(parsing: Array(heartbeat)).root["reconciled_at"]?.integer ?? 0
    #expect(stored > Int64(Date().timeIntervalSince1970 * 1000) - PlayedStore.hour)
    #expect(try installation.verify().code == 0)
  }

  @Test func `a reconciliation that fails is counted, shown and tried again`() throws {
    let (store, _) = try Self.begun()
    try store.control(
      #"{"faults":[{"kind":"unauthenticated","path":"/inApps/v1/subscriptions"}]}"#)
    let daemon = try store.installation.start()
    let metrics = try Self.wait(for: "subledger_reconciliation_failures_total", daemon)
    #expect(metrics.value("subledger_recovery_failures_total") == 0)
    #expect(metrics.value(Self.reconciledAt) ?? 0 < Date().timeIntervalSince1970 - 3600)
    let next = metrics.value("subledger_reconciliation_next_time_seconds") ?? 0
    #expect(abs(next - Date().timeIntervalSince1970) < 70 * RunningCommand.timeoutFactor)
    let state = try recovery(daemon, token: Installation.token)
    let app = state["apps"]?.elements.first { $0["environment"]?.string == "Production" }
    #expect(app?["last_reconciliation"]?["error"]?.string?.contains("401") == true)
    #expect(app?["last_reconciliation"]?["failed"]?.integer == 1, "a refused key is not used again")
    try daemon.logged(#""event":"reconciled""#)
    #expect(try daemon.stop().code == 0)
  }

  @Test func `a shutdown ends a reconciliation at once, and the next start does it`() throws {
    let (store, _) = try Self.begun()
    try store.control(
      #"{"faults":[{"kind":"delay","wait":30000,"path":"/inApps/v1/subscriptions"}]}"#)
    func asked() throws -> Int64 {
      let counts = try store.control("{}")["production"]?["requests"]?.members ?? []
      return counts.filter { $0.name.contains("/subscriptions") }
        .reduce(0) { $0 + ($1.value["requests"]?.integer ?? 0) }
    }
    let daemon = try store.installation.start()
    try daemon.command.wait(60, "a request") { try asked() > 0 }
    let began = Date()
    #expect(try daemon.stop().code == 0)
    #expect(Date().timeIntervalSince(began) < 25 * RunningCommand.timeoutFactor)
    try store.control(#"{"faults":[]}"#)
    let again = try store.installation.start()
    try Self.wait(for: Self.reconciledAt, again)
    try again.stop()
  }
}
