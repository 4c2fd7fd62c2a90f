import Foundation
import Ledger
import Store
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
    client.get("/version")?.json?["digest"]?.string
  }

  /// A customer who loses access, and one who gains it by another status.
  private func affected(_ fleet: ReleaseFleet) throws -> (lost: String, gained: String) {
    let forecast = try ChangedRule.forecast(fleet.folder, at: fleet.end)
    let gained = forecast.gained.filter { $0.value.reason != "revoked → revoked" }
    return (try #require(forecast.lost.keys.min()), try #require(gained.keys.min()))
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
      // One customer is answered by the fold of the running program from the first moment.
      let row = try #require(self.row(client, lost), "a read was not answered")
      if seen.last != row.text { seen.append(row.text) }
      return digest(client) != before["digest"]?.string
    }
    let new = try #require(row(client, lost))
    #expect(new["status"]?.text == "\"billing_retry\"")
    #expect(
      new.setting("status", nil).setting("gives_access", nil).text
        == old.setting("status", nil).setting("gives_access", nil).text)
    #expect(seen == [new.text])
    #expect(row(client, gained)?["gives_access"]?.text == "true")
    let all = try fleet.projections()
    #expect(all.map { $0["role"]?.string } == ["live", "kept"])
    #expect(all.last?["digest"]?.string == before["digest"]?.string)
    // Under the running daemon there is no way back to rows of another fold.
    let back = try fleet.run("rebuild", "--rollback")
    #expect(back.code == 1, "\(back)")
    #expect(back.errors.contains("start the program that has this fold"), "\(back)")
    #expect(digest(client) == all.first?["digest"]?.string)
    #expect(row(client, lost)?.text == new.text)
    #expect(try daemon.stop().code == 0)
    // Each build compares the rows of its own fold.
    for (isChanged, row) in [(false, all.last), (true, all.first)] {
      let report = try verified(fleet, isChanged)
      #expect(report["digest"]?.string == row?["digest"]?.string)
      #expect(report["rows_compared"]?.boolean == true)
    }
    // The program before it continues with its own rows, and is the way back.
    let previous = try fleet.start(isChanged: false)
    #expect(digest(previous.client()) == before["digest"]?.string)
    #expect(self.row(previous.client(), lost)?.text == old.text)
    #expect(try previous.stop().code == 0)
    // Rows of another fold alone are counted.
    #expect(try fleet.run("rebuild", "--prune", isChanged: false).code == 0)
    let counted = try verified(fleet, true)
    #expect(counted["digest"]?.string == before["digest"]?.string)
    #expect(counted["rows_compared"]?.boolean == false)
  }

  private func verified(_ fleet: ReleaseFleet, _ isChanged: Bool) throws -> JSONElement {
    let verified = try fleet.run("verify", "--json", isChanged: isChanged)
    #expect(verified.code == 0, "\(verified)")
    return try #require(try verified.lines().last)
  }

  /// Each is caught up, and none is built again.
  @Test func `each daemon continues with its own rows, whichever were live before`() throws {
    let fleet = try ReleaseFleet(Self.customers)
    let (lost, gained) = try affected(fleet)
    #expect(try fleet.run("rebuild", "--apply").code == 0)
    let applied = try fleet.projections()
    #expect(applied.map { $0["role"]?.string } == ["live", "kept"])
    let names = applied.map { $0["name"]?.string }
    var statuses = [true: ("billing_retry", "grace_period")]
    statuses[false] = ("grace_period", "billing_retry")
    var count = try #require(Int(fleet.row(lost)?["event_count"]?.text ?? ""))
    for (turn, isChanged) in [false, true, false, true].enumerated() {
      let daemon = try fleet.start(isChanged: isChanged)
      let client = daemon.client()
      #expect(row(client, lost)?["event_count"]?.text == "\(count)")
      let late = Sample.notification(turn + 1, otid: lost)
      #expect(client.post(try fleet.installation.sign(late))?.status == 200)
      count += 1
      let fresh = try #require(row(client, lost))
      #expect(fresh["event_count"]?.text == "\(count)")
      #expect(fresh["status"]?.text == "\"\(statuses[isChanged]?.0 ?? "")\"")
      #expect(row(client, gained)?["status"]?.text == "\"\(statuses[isChanged]?.1 ?? "")\"")
      #expect(try daemon.stop().code == 0)
      // Its own are the first of the list. Also without a daemon both answer by their own fold.
      let listed = try fleet.projections().map { $0["name"]?.string }
      #expect(listed == (isChanged ? names : names.reversed()))
      #expect(try fleet.row(lost, isChanged: isChanged)?.text == fresh.text)
      #expect(
        try fleet.row(gained, isChanged: !isChanged)?["status"]?.text
          == "\"\(statuses[!isChanged]?.1 ?? "")\"")
    }
    for isChanged in [false, true] { _ = try verified(fleet, isChanged) }
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
