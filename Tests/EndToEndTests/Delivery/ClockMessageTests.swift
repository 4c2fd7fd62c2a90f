import Foundation
import StrictJSON
import Support
import Testing

/// What time alone changes is told (promise 12).
@Suite struct ClockMessageTests {
  private static var now: Int64 { Int64(Date().timeIntervalSince1970 * 1000) }

  /// A subscription whose paid period ends at a time.
  private func notification(_ number: Int, otid: String, ends: Int64) -> JSONValue {
    Sample.notification(number, otid: otid)
      .dated(Self.now - 5000 + Int64(number))
      .setting("data.transaction.purchaseDate", .integer(ends - 30 * Sample.day))
      .setting("data.transaction.expiresDate", .integer(ends))
      .setting("data.renewalInfo.renewalDate", .integer(ends))
  }

  private func post(
    _ world: SinkWorld, _ daemon: RunningDaemon, _ number: Int, otid: String, ends: Int64
  ) throws {
    let body = try world.installation.sign(notification(number, otid: otid, ends: ends))
    #expect(daemon.client().post(body)?.status == 200)
  }

  private func changes(_ world: SinkWorld) -> [JSONElement] {
    world.messages.map(\.json).filter { $0["type"]?.string == "entitlement.status_changed" }
  }

  @Test func `access that ends by itself is told once, with the row of that moment`() throws {
    let world = try SinkWorld()
    let daemon = try world.start()
    let ends = Self.now + 8000
    try post(world, daemon, 1, otid: "7001", ends: ends)
    try world.waitUntil("the end") { changes(world).count == 1 }
    let message = try #require(changes(world).first)
    let data = try #require(message["data"])
    #expect(message["subject"]?.string == "7001")
    #expect(data["notification_type"]?.kind == .null && data["source"]?.string == "clock")
    #expect(data["seq"]?.integer == 1 && data["stream_seq"]?.integer == 1)
    #expect(
      data["access"]?["before"]?.boolean == true && data["access"]?["after"]?.boolean == false)
    #expect(data["changes"]?["status"]?.elements.map(\.string) == ["active", "expired"])
    #expect(data["entitlement"]?["as_of"]?.integer == ends && data["next"]?.kind == .null)
    let row = try #require(daemon.client().get("/v1/entitlements/7001?as_of=\(ends)")?.json)
    #expect(data["entitlement"]?["status"]?.string == row["status"]?.string)
    #expect(data["entitlement"]?.members.map(\.name) == row.members.map(\.name))
    // The event's message said when.
    #expect(world.messages.first?.json["data"]?["next"]?["at"]?.integer == ends)
    let id = message["id"]?.string ?? ""
    #expect(id.split(separator: "-").count == 5 && id.split(separator: "-")[2].hasPrefix("8"))
    // Not again, also after a crash.
    try daemon.crash()
    let after = try world.start()
    try post(world, after, 2, otid: "7002", ends: Self.now + 86_400_000)
    try world.waitUntil("the next event") { world.seqs.contains(2) }
    usleep(1_500_000)
    #expect(Set(changes(world).compactMap { $0["id"]?.string }) == [id])
    #expect(changes(world).count <= 2, "at most what a crash repeats")
    _ = try after.stop()
  }

  @Test func `what an outage missed comes in order, and what an event took away does not`() throws {
    let world = try SinkWorld()
    world.answer { _ in [.response(503, "")] }
    let daemon = try world.start()
    let ends = Self.now + 8000
    try post(world, daemon, 1, otid: "7001", ends: ends)
    try post(world, daemon, 2, otid: "7002", ends: ends)
    try post(world, daemon, 3, otid: "7003", ends: ends + 1)
    #expect(Self.now < ends, "the events came too late for this test")
    try world.waitUntil("the end") { Self.now > ends + 1000 }
    // Renewed late for one, and again for another.
    try post(world, daemon, 4, otid: "7001", ends: Self.now + 86_400_000)
    // Received later than it begins, by more than a millisecond: its begin is told before it.
    let now = Self.now - 100
    let renewed = notification(5, otid: "7002", ends: now + 86_400_000)
      .setting("data.transaction.purchaseDate", .integer(now))
      // Signed after its start: a renewal that was charged ahead would leave no lapse.
      .setting("data.transaction.signedDate", .integer(now))
    #expect(daemon.client().post(try world.installation.sign(renewed))?.status == 200)
    // After the crash it goes on once the rows have every event.
    try daemon.crash()
    world.answer { _ in [.response(200, "")] }
    let after = try world.start()
    _ = try world.installation.run("sink", "resume", "backend")
    func delivered(_ otid: String) -> [String] {
      var types: [String] = []
      for message in world.messages where message.request.field("subledger-attempt") != "0" {
        guard message.json["subject"]?.string == otid, let type = message.json["type"]?.string
        else { continue }
        if types.last != type { types.append(type) }
      }
      return types
    }
    let (renewal, clock) = ("app_store.did_renew", "entitlement.status_changed")
    try world.waitUntil("all") {
      Set(world.seqs).isSuperset(of: [4, 5]) && changes(world).count >= 2
        && delivered("7002").count >= 3
    }
    // What must not be told would come now.
    usleep(500_000)
    #expect(delivered("7001") == [renewal])
    #expect(delivered("7002") == [renewal, clock, renewal])
    #expect(delivered("7003") == [renewal, clock])
    _ = try after.stop()
  }

  @Test func `a sink that lists other types is not told`() throws {
    let world = try SinkWorld()
    try world.configure([("types", .array([.string("app_store.*")]))])
    let daemon = try world.start()
    try post(world, daemon, 1, otid: "7001", ends: Self.now + 1000)
    try world.wait(1)
    usleep(3_000_000)
    #expect(changes(world).isEmpty)
    _ = try daemon.stop()
  }
}
