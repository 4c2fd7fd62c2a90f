import Clients
import Glibc
import Platform
import Store
import StrictJSON
import Support
import Synchronization
import Testing

@testable import Delivery
@testable import Ledger

/// The service in this process, with receivers on loopback.
@Suite struct DeliveryServiceTests {
  /// A sink that gets everything from the start.
  private static func sink(
    _ name: String, _ receiver: ScriptedServer, concurrency: Int = 8
  ) throws -> Configuration.Sink {
    let url = try #require(ServiceURL(receiver: receiver.address, isPrivate: true))
    var sink = Configuration.Sink(name: name, kind: .forward, url: url)
    (sink.isPrivate, sink.from) = (true, .start)
    (sink.concurrency, sink.timeoutSeconds) = (concurrency, 120)
    return sink
  }

  /// The status that a receiver answers.
  private final class Answer: Sendable {
    let status = Atomic<Int>(204)
  }

  /// A ledger with this many customers, each with one event.
  private static func ledger(customers: Int) throws -> TestLedger {
    let world = try TestLedger()
    for number in 1...customers {
      let event = Sample.notification(number, otid: "\(7000 + number)")
      try world.ingest(try SharedAuthority.sign(event), at: 1)
    }
    return world
  }

  /// Runs the service for sinks.
  private static func run(
    _ sinks: [Configuration.Sink], _ world: TestLedger, _ body: (DeliveryService) throws -> Void
  ) throws {
    var configuration = world.configuration
    configuration.sinks = sinks
    let used = configuration
    let service = try DeliveryService.start(world.ledger, version: "0") { used }
    defer { service.stop() }
    try body(service)
  }

  private static func wait(
    _ service: DeliveryService, _ name: String, _ holds: (DeliveryStatus) -> Bool
  ) throws -> DeliveryStatus {
    for _ in 0..<3000 {
      if let status = service.statuses.first(where: { $0.id.name == name }), holds(status) {
        return status
      }
      usleep(20_000)
    }
    throw TestFailure("timed out: \(service.statuses)")
  }

  /// What happens afterwards has a later time than what happened before.
  private static func waitForTheNextMillisecond() {
    let now = Clock.now()
    while Clock.now() <= now { usleep(500) }
  }

  @Test func `a mirror has not begun until its first turn`() throws {
    let address = try PostgresAddress(checking: "host=/run/none dbname=a user=b")
    let mirror = Configuration.Mirror(
      name: "m", address: address, passwordFile: nil, schema: "s")
    let running = RunningMirror(mirror, isPaused: false, .proven, at: 7)
    #expect(running.status.state == "down" && running.status.reason == "it has not begun")
    running.report(.failed("no server"), at: nil, head: 0)
    #expect(running.status.reason == "no server")
  }

  @Test func `a sink whose messages cannot begin to be sent is down, and says why`() throws {
    let receiver = try ScriptedServer { _ in [.response(204, "")] }
    var bad = try Self.sink("bad", receiver)
    bad.fields = [.init("X Key", "canary")]
    try Self.run([bad, try Self.sink("good", receiver)], try Self.ledger(customers: 1)) { service in
      let status = try Self.wait(service, "bad") { $0.state == "down" }
      #expect(status.counts.failed > 0 && status.reason == "the header field ? cannot be sent")
      _ = try Self.wait(service, "good") { $0.counts.delivered == 1 }
    }
    #expect(receiver.requests.count == 1)
  }

  @Test func `a receiver that never answers takes no connection of another sink's`() throws {
    let silent = try ScriptedServer { _ in [.pause(milliseconds: 600_000)] }
    let receiver = try ScriptedServer { _ in [.response(204, "")] }
    let sinks = [
      try Self.sink("a", silent, concurrency: 64), try Self.sink("b", receiver, concurrency: 64),
    ]
    try Self.run(sinks, try Self.ledger(customers: 80)) { service in
      _ = try Self.wait(service, "b") { $0.counts.delivered == 80 }
      _ = try Self.wait(service, "a") { _ in silent.requests.count == 32 }
    }
  }

  private static func ask(_ service: DeliveryService, _ command: SinkCommand) throws -> JSONValue {
    let answers = BoundedQueue<SinkCommand.Outcome>(capacity: 1)
    service.perform(command) { _ = answers.enqueue($0) }
    let outcome = try #require(answers.dequeue())
    guard case .done(let answer) = outcome else { throw TestFailure("\(outcome)") }
    return answer
  }

  @Test func `what is given up stays, also beside what is given up after a restart`() throws {
    let receiver = try ScriptedServer { _ in [.response(400, "")] }
    let sink = try Self.sink("a", receiver)
    let world = try Self.ledger(customers: 1)
    for seq in 1...2 as ClosedRange<Int64> {
      try Self.run([sink], world) { service in
        if seq == 2 {
          let event = Sample.notification(2, otid: "7002")
          try world.ingest(try SharedAuthority.sign(event), at: 1)
        }
        _ = try Self.wait(service, "a") { $0.held == 1 }
        var skip = SinkCommand(.skip, "a")
        skip.seq = seq
        _ = try Self.ask(service, skip)
        let shown = try JSONDocument(parsing: try Self.ask(service, SinkCommand(.show, "a")).bytes)
        let dead = try #require(shown.root["dead"]?.elements).compactMap { $0["seq"]?.integer }
        #expect(dead == Array(1...seq))
      }
    }
  }

  @Test func `the time of a state is when it began, also of one after an outage`() throws {
    let answer = Answer()
    let receiver = try ScriptedServer { _ in
      [.response(answer.status.load(ordering: .relaxed), "")]
    }
    let sink = try Self.sink("a", receiver)
    let world = try Self.ledger(customers: 1)
    func add(_ number: Int) throws {
      try world.ingest(try SharedAuthority.sign(Sample.notification(number)), at: 1)
    }
    var since: Int64 = 0
    try Self.run([sink], world) { service in
      let start = try Self.wait(service, "a") { $0.counts.delivered == 1 }
      answer.status.store(503, ordering: .relaxed)
      Self.waitForTheNextMillisecond()
      try add(2)
      let down = try Self.wait(service, "a") { $0.state == "down" }
      #expect(down.since > start.since)
      Self.waitForTheNextMillisecond()
      answer.status.store(204, ordering: .relaxed)
      let up = try Self.wait(service, "a") { $0.state == "up" }
      #expect(up.since > down.since)
      since = up.since
    }
    try Self.run([sink], world) { service in
      let status = try Self.wait(service, "a") { $0.state == "up" }
      #expect(status.since == since, "a restart is no outage")
      answer.status.store(503, ordering: .relaxed)
      try add(3)
      _ = try Self.wait(service, "a") { $0.state == "down" }
    }
    answer.status.store(204, ordering: .relaxed)
    let restarted = Clock.now()
    try Self.run([sink], world) { service in
      let status = try Self.wait(service, "a") { $0.counts.delivered == 1 }
      #expect(status.state == "up" && status.since >= restarted)
    }
  }
}
