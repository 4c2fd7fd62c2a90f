import Foundation
import StrictJSON
import Support
import Testing

/// What a sink is told of requests of customers for refunds.
@Suite struct RefundMessageTests {
  private static let hour: Int64 = 3_600_000
  private static var now: Int64 { Int64(Date().timeIntervalSince1970 * 1000) }

  private static func event(
    _ number: Int, _ type: String, _ otid: String = "7000", later: Int64 = 0
  ) -> JSONValue {
    let event = Sample.notification(number, otid: otid, type: type).dated(now + later)
    return event.setting("data.transaction.transactionId", .string("\(otid)1"))
  }

  /// The configuration of a sink that is told of requests alone, and of who decides about them.
  private static func configure(_ world: SinkWorld, isOn: Bool = true) throws {
    try world.configure(
      [("types", .array([.string("refund_request.*")]))],
      more: isOn ? [("refunds", .object([("policies", .array([]))]))] : [])
  }

  /// What was told, in order, each once: after a kill a message may come again.
  private static func types(_ world: SinkWorld) -> [String] {
    var ids: Set<String> = []
    return world.messages.map(\.json).filter { ids.insert($0["id"]?.string ?? "").inserted }
      .compactMap { $0["type"]?.string?.split(separator: ".").last }.map(String.init)
  }

  private static func wait(_ world: SinkWorld, _ types: [String]) throws {
    try world.waitUntil("\(types)") { Self.types(world) == types }
  }

  private static func post(_ world: SinkWorld, _ daemon: RunningDaemon, _ event: JSONValue) throws {
    #expect(daemon.client().post(try world.installation.sign(event))?.status == 200)
  }

  @Test func `what becomes of a request is told once, across kills, and again by a replay`() throws
  {
    let world = try SinkWorld()
    try Self.configure(world)
    let clock = try world.installation.adjustClock()
    var daemon = try world.start()
    try Self.post(world, daemon, Self.event(1, "DID_RENEW"))
    try Self.post(world, daemon, Self.event(2, "CONSUMPTION_REQUEST"))
    try Self.wait(world, ["opened"])
    try clock.set(aheadBy: 8 * Self.hour)
    try daemon.crash()
    daemon = try world.start()
    usleep(2_500_000)
    #expect(Self.types(world) == ["opened"])
    try clock.set(aheadBy: 9 * Self.hour + 60_000)
    try Self.wait(world, ["opened", "due"])
    try daemon.crash()
    try clock.set(aheadBy: 12 * Self.hour + 60_000)
    daemon = try world.start()
    try Self.wait(world, ["opened", "due", "missed"])
    _ = try daemon.stop()
    daemon = try world.start()
    try Self.post(world, daemon, Self.event(3, "REFUND_DECLINED", later: 12 * Self.hour + 60_000))
    try Self.wait(world, ["opened", "due", "missed", "closed"])
    let ids = Set(world.messages.compactMap { $0.json["id"]?.string })
    let last = try #require(world.messages.last)
    let data = try #require(last.json["data"])
    #expect(last.request.field("webhook-id") == last.json["id"]?.string)
    #expect(last.json["subject"]?.string == "7000")
    let request = try #require(data["refund_request"])
    #expect(request["transaction_id"]?.string == "70001")
    #expect(request["state"]?.string == "missed" && request["outcome"]?.string == "declined")
    // The row is beside it, so that a receiver keeps the newest of all messages.
    #expect(data["entitlement"]?["product_id"]?.string == "pro.monthly")
    #expect(data["seq"]?.integer == 5)
    #expect(try world.installation.run("sink", "replay", "backend", "--from", "1").code == 0)
    try world.waitUntil("the replay") {
      world.messages.count { $0.request.field("subledger-replay") != nil } == 4
    }
    #expect(Set(world.messages.compactMap { $0.json["id"]?.string }) == ids)
    let listed = try world.installation.run("events", "--json", "--limit", "100").lines()
    #expect(
      listed.compactMap { $0["notification_type"]?.string } == [
        "DID_RENEW", "CONSUMPTION_REQUEST", "REFUND_DUE", "REFUND_MISSED", "REFUND_DECLINED",
      ])
    _ = try daemon.stop()
    #expect(try world.installation.run("verify").code == 0)
  }

  @Test func `without refunds configured nothing is journaled, and events are told`() throws {
    let world = try SinkWorld()
    try Self.configure(world, isOn: false)
    let clock = try world.installation.adjustClock()
    let daemon = try world.start()
    try Self.post(world, daemon, Self.event(1, "CONSUMPTION_REQUEST"))
    try world.wait(1)
    try clock.set(aheadBy: 13 * Self.hour)
    usleep(4_000_000)
    try Self.post(world, daemon, Self.event(2, "REFUND_DECLINED"))
    try world.wait(2)
    #expect(Self.types(world) == ["opened", "closed"])
    #expect(try world.installation.run("events", "--json").lines().count == 2)
    _ = try daemon.stop()
  }

  @Test func `an event that says nothing new of a request has its own message alone`() throws {
    let world = try SinkWorld()
    let daemon = try world.start()
    try Self.post(world, daemon, Self.event(1, "REFUND_DECLINED", "7001"))
    try Self.post(world, daemon, Self.event(2, "CONSUMPTION_REQUEST"))
    try Self.post(world, daemon, Self.event(3, "REFUND_DECLINED"))
    try Self.post(world, daemon, Self.event(4, "REFUND_DECLINED"))
    let said = try world.installation.run("refunds", "answer", "70001", "--consented", "yes")
    #expect(said.code == 0, "\(said)")
    try world.wait(6)
    try world.waitUntil("the end") { world.sink(daemon)?["seq"]?.integer == 5 }
    let told = world.messages.filter { $0.json["subject"]?.string == "7000" }
      .compactMap { $0.json["type"]?.string }
    #expect(
      told == [
        "app_store.consumption_request", "refund_request.opened", "app_store.refund_declined",
        "refund_request.closed", "app_store.refund_declined",
      ])
    #expect(world.messages.count == 6)
    _ = try daemon.stop()
  }
}
