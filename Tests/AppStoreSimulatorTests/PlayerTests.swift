import Clients
import Platform
import Synchronization
import Testing

@testable import AppStoreSimulator

private let accepted = FakeService.answer("200 OK", #"{"outcome":"accepted","seq":1}"#)
private let busy = FakeService.answer("503 Service Unavailable")

/// Deliveries to a service: retries, final answers, rates.
@Suite struct PlayerTests {
  static let messages = Fleet(
    app: SimulatedApp(), customers: 8, days: 200, end: LifecycleTests.end, seed: 9
  ).notifications().map { SimulatedMessage($0) }
  static let deliveries = DeliveryFaults().plan(messages, seed: 9)

  private func play(
    _ service: FakeService, connections: Int = 1, rate: Double? = nil,
    shouldStop: () -> Bool = { false }
  ) throws -> PlayReport {
    var player = Player(
      address: try #require(service.address), connections: connections, rate: rate)
    player.millisecondsPerHour = 1
    defer { service.stop() }
    return try player.play(
      Self.deliveries, of: Self.messages, signer: MessageSigner(.make()), shouldStop: shouldStop)
  }

  @Test func `answers are counted by outcome`() throws {
    let service = try FakeService([
      FakeService.answer("200 OK", #"{"outcome":"duplicate"}"#), accepted,
    ])
    let report = try play(service, connections: 3)
    let count = Self.deliveries.count
    #expect(report.isGood && report.answered == count && report.retries == 0)
    #expect(report.byOutcome == ["accepted": count - 1, "duplicate": 1])
    let request = try #require(service.requests.withLock { $0.first })
    #expect(request.hasPrefix("POST /v1/notifications HTTP/1.1\r\nHost: 127.0.0.1:"))
    #expect(request.contains(#"{"signedPayload":"ey"#))
  }

  @Test func `a delivery is retried after a 503 and after a broken connection`() throws {
    let report = try play(FakeService([busy, busy, "", accepted]))
    #expect(report.isGood && report.retries >= 2)
  }

  @Test func `a delivery is not retried after a refusal`() throws {
    let report = try play(FakeService([FakeService.answer("401 Unauthorized"), accepted]))
    #expect(!report.isGood && report.byStatus[401] == 1 && report.retries == 0)
  }

  @Test func `an unreachable service ends the run after all retries`() throws {
    var player = Player(address: try #require(ServiceURL("http://127.0.0.1:1/")))
    player.millisecondsPerHour = 0
    let report = try player.play(Self.deliveries, of: Self.messages, signer: MessageSigner(.make()))
    #expect(report.isUnreachable && report.answered == 0 && report.unanswered == 1)
    #expect(report.retries == 5)
  }

  @Test func `a run stops when told to, and does not exceed its rate`() throws {
    let start = Platform.Clock.monotonicNanoseconds()
    let service = try FakeService([accepted])
    let report = try play(service, rate: 20) { service.requests.withLock { $0.count } >= 5 }
    let seconds = Double(Platform.Clock.monotonicNanoseconds() - start) / 1e9
    #expect(report.isStopped && !report.isGood)
    #expect(report.answered >= 4 && Double(report.answered) <= 2 + 20 * seconds, "\(seconds) s")
  }
}
