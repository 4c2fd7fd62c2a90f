import Foundation
import StrictJSON
import Support
import Testing

/// `sink`: what an operator sees and does.
@Suite struct SinkCommandTests {
  private func run(_ world: SinkWorld, _ arguments: String...) throws -> CommandResult {
    try world.installation.run(["sink"] + arguments)
  }

  @Test func `a sink is listed, paused, resumed and tried`() throws {
    let world = try SinkWorld()
    let daemon = try world.start()
    let list = try run(world, "list")
    #expect(
      list.code == 0 && list.output.contains("backend                 webhook   up"), "\(list)")
    #expect(try run(world, "pause", "backend").output.hasPrefix("backend is paused since "))
    try world.post(daemon, 1...1, otid: "7001")
    let test = try run(world, "test", "backend")
    #expect(test.code == 0 && test.output == "the receiver answered 204\n", "\(test)")
    #expect(world.messages.map { $0.json["type"]?.string } == ["subledger.test"])
    #expect(try run(world, "resume", "backend").output.hasPrefix("backend is up since "))
    try world.wait(2)
    #expect(world.seqs == [1])
    let shown = try run(world, "show", "backend", "--json")
    #expect(shown.output.contains("\"delivered\":1"), "\(shown)")
    #expect(!shown.output.contains("k=1") && !list.output.contains(world.secret))
    _ = try daemon.stop()
  }

  @Test func `a replay sends the same messages again, and moves no place`() throws {
    let world = try SinkWorld()
    let daemon = try world.start()
    try world.post(daemon, 1...3, otid: "7001")
    try world.post(daemon, 4...4, otid: "7002")
    try world.wait(4)
    let first = world.messages
    let replay = try run(world, "replay", "backend", "--from", "1", "--only", "7001")
    #expect(replay.code == 0 && replay.output.contains("follows seq 1, through 4"), "\(replay)")
    try world.wait(6)
    let again = Array(world.messages.suffix(2))
    #expect(again.map { $0.json["data"]?["seq"]?.integer } == [2, 3])
    #expect(again.allSatisfy { $0.request.field("subledger-replay") == "1" })
    // Another customer's message may have come between.
    let second = try #require(first.first { $0.json["data"]?["seq"]?.integer == 2 })
    #expect(again[0].request.body == second.request.body)
    #expect(again[0].request.field("webhook-id") == second.request.field("webhook-id"))
    try world.waitUntil("the end of the replay") {
      daemon.client().get("/v1/sinks")?.json?["items"]?.elements.count == 1
    }
    #expect(world.sink(daemon)?["seq"]?.integer == 4)
    _ = try daemon.stop()
  }

  @Test func `a paused sink sends no replay either`() throws {
    let world = try SinkWorld()
    let daemon = try world.start()
    try world.post(daemon, 1...3, otid: "7001")
    try world.wait(3)
    #expect(try run(world, "pause", "backend").code == 0)
    #expect(try run(world, "replay", "backend", "--from", "start").code == 0)
    #expect(try run(world, "pause", "backend").code == 0)
    let states = daemon.client().get("/v1/sinks")?.json?["items"]?.elements
      .map { $0["state"]?.string }
    #expect(states == ["paused", "paused"] || states == ["paused"])
    #expect(try run(world, "resume", "backend").code == 0)
    try world.wait(6)
    _ = try daemon.stop()
  }

  @Test func `a message is skipped, and taken back`() throws {
    let world = try SinkWorld()
    world.answer { _ in [.response(400, "")] }
    let daemon = try world.start()
    try world.post(daemon, 1...1, otid: "7001")
    try world.waitUntil("held") { world.sink(daemon)?["held"]?.integer == 1 }
    let show = try run(world, "show", "backend")
    #expect(show.output.contains("seq 1, attempts 1, HTTP 400"), "\(show)")
    #expect(try run(world, "skip", "backend", "9").code == 1)
    #expect(try run(world, "skip", "backend", "1").output.contains("given up"))
    #expect(world.sink(daemon)?["dead"]?.integer == 1)
    world.answer { _ in [.response(200, "")] }
    let retried = try run(world, "retry", "backend", "--dead")
    #expect(retried.output == "1 message is tried again\n", "\(retried)")
    try world.waitUntil("delivered") { world.sink(daemon)?["delivered"]?.integer == 1 }
    world.answer { _ in [.response(400, "")] }
    try world.post(daemon, 2...2, otid: "7001")
    try world.waitUntil("held again") { world.sink(daemon)?["held"]?.integer == 1 }
    #expect(try run(world, "skip", "backend", "2").code == 0)
    world.answer { _ in [.response(200, "")] }
    let replayed = try run(world, "replay", "backend", "--dead", "--from", "1")
    #expect(replayed.output == "1 message is tried again\n", "\(replayed)")
    try world.waitUntil("all delivered") { world.sink(daemon)?["delivered"]?.integer == 2 }
    _ = try daemon.stop()
  }

  @Test func `rebuilds are announced only where a sink is told of them`() throws {
    let world = try SinkWorld()
    let daemon = try world.start()
    func announce() throws -> CommandResult { try world.installation.run("rebuild", "--announce") }
    // A webhook of all types is told; there is only one fold.
    #expect(try announce().errors.contains("nothing to compare"))
    try world.configure([("types", .array([.string("app_store.*")]))])
    let filtered = try announce()
    #expect(filtered.code == 1 && filtered.errors.contains("there is nobody to tell"))
    try world.configure([("kind", .string("forward")), ("secretFile", .null)])
    let forward = try announce()
    #expect(forward.code == 1 && forward.errors.contains("there is nobody to tell"))
    _ = try daemon.stop()
  }

  @Test func `wrong words are told`() throws {
    let world = try SinkWorld()
    #expect(try run(world, "list").code == 3)
    #expect(try run(world).code == 2)
    #expect(try run(world, "stop", "backend").code == 2)
    #expect(try run(world, "skip", "backend").code == 2)
    #expect(try run(world, "public-key", "none").code == 1)
    let daemon = try world.start()
    #expect(try run(world, "show", "none").code == 1)
    _ = try daemon.stop()
  }

  @Test func `a reload adds a sink, and metrics tell of it`() throws {
    let world = try SinkWorld()
    try world.installation.configure()
    let daemon = try world.installation.start()
    #expect(daemon.client().get("/v1/sinks")?.json?["items"]?.elements.isEmpty == true)
    try world.configure()
    daemon.command.signal(SIGHUP)
    try world.waitUntil("the sink") { world.sink(daemon) != nil }
    try daemon.logged("sink backend added")
    try world.post(daemon, 1...1, otid: "7001")
    try world.waitUntil("delivered") { world.sink(daemon)?["delivered"]?.integer == 1 }
    let metrics = daemon.client().get("/metrics")?.text ?? ""
    #expect(metrics.contains("subledger_sink_up{sink=\"backend\"} 1"))
    #expect(
      metrics.contains(
        "subledger_sink_deliveries_total{sink=\"backend\",outcome=\"delivered\"} 1"))
    let other = daemon.client().get("/v1/sinks", token: Installation.sandboxToken)
    #expect(other?.status == 403)
    _ = try daemon.stop()
  }
}
