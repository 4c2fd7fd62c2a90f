import Configuration
import Glibc
import HTTPClient
import JournalStore
import Support
import Testing

@testable import Delivery

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

  /// Runs the service for sinks and this many customers with one event each.
  private static func run(
    _ sinks: [Configuration.Sink], customers: Int, _ body: (DeliveryService) throws -> Void
  ) throws {
    let world = try TestLedger()
    for number in 1...customers {
      let event = Sample.notification(number, otid: "\(7000 + number)")
      try world.ingest(try SharedAuthority.sign(event), at: 1)
    }
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

  @Test func `a sink whose messages cannot begin to be sent is down, and says why`() throws {
    let receiver = try ScriptedServer { _ in [.response(204, "")] }
    var bad = try Self.sink("bad", receiver)
    bad.fields = [.init("X Key", "canary")]
    try Self.run([bad, try Self.sink("good", receiver)], customers: 1) { service in
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
    try Self.run(sinks, customers: 80) { service in
      _ = try Self.wait(service, "b") { $0.counts.delivered == 80 }
      _ = try Self.wait(service, "a") { _ in silent.requests.count == 32 }
    }
  }
}
