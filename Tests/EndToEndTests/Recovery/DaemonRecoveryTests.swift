import Foundation
import StrictJSON
import Support
import Testing

/// What the daemon recovers by itself (promise 11).
@Suite struct DaemonRecoveryTests {
  /// A store that sends for half a day, and whose clock is then half a day behind.
  private func begun(recover: String = "automatic") throws -> (PlayedStore, RunningDaemon) {
    let store = try PlayedStore(
      ["--customers", "600", "--days", "60", "--behind", "1"], recover: recover)
    let daemon = try store.installation.start()
    try store.advance(PlayedStore.day / 2, notify: "true")
    return (store, daemon)
  }

  private func waitForRecovery(_ daemon: RunningDaemon) throws -> MetricsText {
    var metrics = MetricsText("")
    try daemon.command.wait(60, "a recovery") {
      guard let answer = daemon.client().get("/metrics") else { return false }
      metrics = MetricsText(answer.text)
      return metrics.value("subledger_recovery_success_time_seconds") ?? 0 > 0
    }
    return metrics
  }

  @Test func `after an outage the daemon recovers what it missed`() throws {
    let (store, daemon) = try begun()
    // An empty journal has no gap.
    #expect(!daemon.log.contains("\"recovery_began\""))
    try daemon.crash()
    let before = try store.journaled()
    try store.advance(PlayedStore.day / 2, notify: "false")
    let began = Int64(Date().timeIntervalSince1970 * 1000) - PlayedStore.day / 2
    let expected = try store.reference(before, since: began)
    let missed = (expected.events ?? 0) - Int64(before.count)
    let again = try store.installation.start()
    let metrics = try waitForRecovery(again)
    // The journal has events of the Sandbox too, which are not in the reference.
    let recovered = metrics.value("subledger_recovered_total") ?? -1
    #expect(recovered >= Double(missed) && missed > 0)
    #expect(
      metrics.value("subledger_recovery_next_time_seconds") ?? 0 > Date().timeIntervalSince1970)
    #expect(metrics.value("subledger_recovery_failures_total") == 0)
    #expect(metrics.value("subledger_duplicates_total") == 0, "duplicates of a history are no news")
    try again.logged("\"recovery_began\"")
    try again.logged("\"recovery_ended\"")
    #expect(try again.stop().code == 0)
    let all = try store.installation.file("all", store.bodies(since: began))
    let ingested = try store.installation.run("ingest", all)
    #expect(ingested.code == 0 && ingested.output.contains(" 0 accepted"), "\(ingested)")
    #expect(try store.installation.verify().code == 0)
  }

  @Test func `after the restore of an older backup, what was lost comes back`() throws {
    let (store, daemon) = try begun()
    let backup = store.installation.folder.appending(path: "backup").path
    #expect(try store.installation.run("backup", backup).code == 0)
    try store.advance(PlayedStore.day / 4, notify: "true")
    let before = try store.installation.events().count
    try daemon.stop()
    try FileManager.default.removeItem(at: store.installation.data)
    #expect(try store.installation.run("restore", backup).code == 0)
    #expect(try store.installation.events().count < before)
    let again = try store.installation.start()
    let metrics = try waitForRecovery(again)
    #expect(metrics.value("subledger_recovered_total") ?? 0 > 0)
    #expect(try store.installation.events().count == before)
    // Apple believes them delivered, and they were.
    try again.logged(#""delivered":"#, #""level":"warning""#)
    try again.stop()
    #expect(try store.installation.verify().code == 0)
  }

  @Test func `off means that nothing is asked and nothing stored`() throws {
    let (store, daemon) = try begun(recover: "off")
    usleep(2_500_000)
    #expect(try store.requests().all == 0)
    #expect(try store.installation.files()["heartbeat.json"] == nil)
    let text = daemon.client().get("/metrics")?.text ?? ""
    #expect(!text.contains("subledger_recovery") && text.contains("subledger_journal_seq"))
    #expect(!text.contains("subledger_reconcil"))
    let recovery = daemon.client().get("/v1/overview")?.json?["recovery"]
    #expect(recovery?["apps"]?.elements.map { $0["recover"]?.string } == ["off", "off"])
    #expect(recovery?["next_reconciliation_at"]?.kind == .null)
    try daemon.stop()
  }

  @Test func `a shutdown ends a recovery at once, and the next start does it`() throws {
    let (store, daemon) = try begun()
    try daemon.stop()
    try store.control(#"{"faults":[{"kind":"delay","wait":30000}]}"#)
    let asked = try store.requests().all
    let waiting = try store.installation.start()
    try waiting.command.wait(60, "a request") { try store.requests().all > asked }
    let began = Date()
    #expect(try waiting.stop().code == 0)
    #expect(Date().timeIntervalSince(began) < 25 * RunningCommand.timeoutFactor)
    let stored = try #require(try store.installation.files()["heartbeat.json"])
    let root = try JSONDocument(parsing: Array(stored)).root
    #expect(root["pending_since"]?.integer ?? 0 > 0 && root["seq"]?.integer ?? 0 > 0)
    try store.control(#"{"faults":[]}"#)
    let again = try store.installation.start()
    _ = try waitForRecovery(again)
    try again.stop()
  }
}
