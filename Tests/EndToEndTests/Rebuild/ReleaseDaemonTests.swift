import Foundation
import JournalStore
import LedgerEngine
import StrictJSON
import Support
import Testing

/// Daemons of two folds that run on one folder in turn.
@Suite(
  .serialized,
  .enabled(
    if: ChangedRule.program != nil,
    "SUBLEDGER_CHANGED_RULE names no build with a changed rule; `make trial` makes one"))
struct ReleaseDaemonTests {
  private static let customers = 400

  private func path(_ id: String) -> String { "/v1/entitlements/\(id)" }

  private func row(_ client: Client, _ id: String) -> JSONValue? {
    guard let answer = client.get(path(id)), answer.status == 200 else { return nil }
    return answer.json?.value.setting("as_of", nil)
  }

  private func digest(_ client: Client) -> String? {
    client.get("/version", token: nil)?.json?["digest"]?.string
  }

  /// A customer who loses access, and one who gains it.
  private func affected(_ fleet: ReleaseFleet) throws -> (lost: String, gained: String) {
    let forecast = try ChangedRule.forecast(fleet.folder, at: fleet.end)
    return (
      try #require(forecast.lost.keys.min()), try #require(forecast.gained.keys.min())
    )
  }

  @Test func `a daemon of another fold builds its own rows and switches to them`() throws {
    let fleet = try ReleaseFleet(Self.customers)
    let (lost, gained) = try affected(fleet)
    let before = try #require(try fleet.projections().first)
    let old = try #require(try fleet.row(lost, isChanged: false))
    let daemon = try fleet.start(isChanged: true)
    let client = daemon.client()
    var seen: [String] = []
    try daemon.command.wait(60, "the switch") {
      let row = try #require(self.row(client, lost), "a read was not answered")
      if seen.last != row.text { seen.append(row.text) }
      return digest(client) != before["digest"]?.string
    }
    let new = try #require(row(client, lost))
    #expect(new["status"]?.text == "\"billing_retry\"")
    #expect(
      new.setting("status", nil).setting("gives_access", nil).text
        == old.setting("status", nil).setting("gives_access", nil).text)
    #expect(seen.allSatisfy { $0 == old.text || $0 == new.text }, "\(seen)")
    #expect(row(client, gained)?["gives_access"]?.text == "true")
    let all = try fleet.projections()
    #expect(all.map { $0["role"]?.string } == ["live", "kept"])
    #expect(all.last?["digest"]?.string == before["digest"]?.string)
    // Back, under the running daemon.
    let back = try fleet.run("rebuild", "--rollback")
    #expect(back.code == 0, "\(back)")
    #expect(digest(client) == before["digest"]?.string)
    #expect(row(client, lost)?.text == old.text)
    #expect(try daemon.stop().code == 0)
    #expect(try fleet.row(lost)?.text == old.text)
    // Each build only compares rows of its own fold; those of the other one it counts.
    for isChanged in [false, true] {
      let verified = try fleet.run("verify", "--json", isChanged: isChanged)
      #expect(verified.code == 0, "\(verified)")
      let report = try #require(try verified.lines().last)
      #expect(report["digest"]?.string == before["digest"]?.string)
      #expect(report["rows_compared"]?.boolean == !isChanged)
    }
  }

  @Test func `rows that were rolled back to stay live under a daemon of another fold`() throws {
    let fleet = try ReleaseFleet(Self.customers)
    let (lost, gained) = try affected(fleet)
    let before = try #require(try fleet.projections().first?["digest"]?.string)
    #expect(try fleet.run("rebuild", "--apply").code == 0)
    #expect(try fleet.run("rebuild", "--rollback").code == 0)
    let old = try #require(try fleet.row(gained, isChanged: false))
    let daemon = try fleet.start(isChanged: true)
    let client = daemon.client()
    for _ in 0..<20 {
      #expect(digest(client) == before)
      #expect(row(client, lost)?["status"]?.text == "\"grace_period\"")
      usleep(50_000)
    }
    // Only a customer with a new event is answered by the fold of the running program.
    let late = Sample.notification(1, otid: lost)
    let count = try #require(try fleet.row(lost)?["event_count"]?.text)
    #expect(client.post(try fleet.installation.sign(late))?.status == 200)
    let fresh = try #require(row(client, lost))
    #expect(fresh["event_count"]?.text == "\((Int(count) ?? 0) + 1)")
    #expect(fresh["status"]?.text == "\"billing_retry\"")
    #expect(row(client, gained)?.text == old.text)
    #expect(digest(client) == before)
    #expect(try daemon.stop().code == 0)
    // Also without a daemon, and after another start.
    #expect(try fleet.row(lost)?.text == fresh.text)
    let again = try fleet.start(isChanged: true)
    #expect(row(again.client(), lost)?.text == fresh.text)
    #expect(row(again.client(), gained)?.text == old.text)
    // The new rows can be applied again.
    let forwards = try fleet.run("rebuild", "--apply")
    #expect(forwards.code == 0, "\(forwards)")
    #expect(row(again.client(), gained)?["status"]?.text == "\"grace_period\"")
    #expect(row(again.client(), lost)?.text == fresh.text)
    #expect(try again.stop().code == 0)
    let verified = try fleet.run("verify")
    #expect(verified.code == 0, "\(verified)")
  }

  @Test func `a daemon does not adopt rows of another fold`() throws {
    let fleet = try ReleaseFleet(Self.customers)
    let (lost, _) = try affected(fleet)
    let daemon = try fleet.start(isChanged: false)
    let client = daemon.client()
    let before = try #require(digest(client))
    let old = try #require(row(client, lost))
    let refused = try fleet.run("rebuild", "--apply")
    #expect(refused.code == 3, "\(refused)")
    #expect(refused.errors.contains("the daemon has another fold"))
    #expect(digest(client) == before)
    #expect(row(client, lost)?.text == old.text)
    #expect(try fleet.projections().first?["digest"]?.string == before)
    // The files that the other build left behind do not prevent an apply by this one.
    let applied = try fleet.run("rebuild", "--apply", "--json", isChanged: false)
    #expect(applied.code == 0, "\(applied)")
    #expect(try applied.lines().last?["digest"]?.string == before)
    let only = try fleet.run("rebuild", "--only", lost)
    #expect(only.code == 0 || only.code == 1, "\(only)")
    #expect(row(client, lost)?.text == old.text)
    #expect(try daemon.stop().code == 0)
    let verified = try fleet.run("verify", isChanged: false)
    #expect(verified.code == 0, "\(verified)")
  }
}
