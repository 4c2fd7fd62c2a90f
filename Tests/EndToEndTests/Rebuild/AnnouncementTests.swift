import Foundation
import StrictJSON
import Support
import Testing

/// `rebuild --announce`: sinks are told whose answers another fold changed.
@Suite(
  .serialized,
  .enabled(
    if: ChangedProgram.path != nil,
    "SUBLEDGER_CHANGED_FOLD names no build with a changed fold; `make trial` makes one"))
struct AnnouncementTests {
  private static let customers = 200

  @Test func `each customer whose answer differs is told once`() throws {
    let fleet = try ReleaseFleet(Self.customers)
    let receiver = try ScriptedServer { _ in [.response(204, "")] }
    let secret = fleet.installation.folder.appending(path: "a.whsec")
    try Data("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".utf8).write(to: secret)
    chmod(secret.path, 0o600)
    try fleet.addSink(receiver.address)
    let refused = try fleet.run("rebuild", "--announce", isChanged: false)
    #expect(refused.code != 0 && refused.errors.contains("nothing to compare"), "\(refused)")
    // The program of another fold switches by itself.
    let daemon = try fleet.start(isChanged: true)
    try daemon.command.wait(60, "the switch") {
      daemon.client().get("/readyz", token: nil)?.json?["projection"]?.string == "following"
    }
    #expect(receiver.requests.isEmpty, "a switch tells nobody by itself")
    let announced = try fleet.run("rebuild", "--announce", "--json")
    #expect(announced.code == 0, "\(announced)")
    let count = try #require(try announced.lines().first?["customers"]?.integer)
    #expect(count > 0)
    try daemon.command.wait(60, "the messages") { receiver.requests.count >= Int(count) }
    let again = try fleet.run("rebuild", "--announce")
    #expect(again.code == 1 && again.errors.contains("announced before"), "\(again)")
    usleep(1_500_000)
    var told: Set<String> = []
    for request in receiver.requests {
      let message = try JSONDocument(parsing: request.body).root
      #expect(message["type"]?.string == "entitlement.recalculated")
      let data = try #require(message["data"])
      let id = try #require(data["original_transaction_id"]?.string)
      #expect(told.insert(id).inserted, "\(id) was told twice")
      #expect(data["source"]?.string == "rebuild" && data["notification_type"]?.kind == .null)
      let change = data["changes"]?["status"]?.elements.compactMap(\.string) ?? []
      // The changed fold gives access to what was revoked, with the same status.
      if change.isEmpty {
        #expect(data["entitlement"]?["status"]?.string == "revoked")
        #expect(data["access"]?["after"]?.boolean == true)
        continue
      }
      #expect(change.sorted() == ["billing_retry", "grace_period"])
      #expect(data["entitlement"]?["status"]?.string == change.last)
      #expect(data["access"]?["before"]?.boolean == (change.first == "grace_period"))
      #expect(data["access"]?["after"]?.boolean == (change.last == "grace_period"))
    }
    #expect(told.count == Int(count))
    // Those whom the rule changes now, found without either program's comparison.
    let forecast = try ChangedFold.forecast(
      fleet.folder, at: Int64(Date().timeIntervalSince1970 * 1000))
    #expect(Set(forecast.lost.keys).union(forecast.gained.keys).isSubset(of: told))
    _ = try daemon.stop()
  }
}
