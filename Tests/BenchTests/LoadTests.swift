import Platform
import Testing

@testable import subledger_bench

/// The load generator must not report better results than clients would see.
@Suite struct LoadTests {
  private static let count = 100
  private static let stall: UInt32 = 400

  private func run(_ pacer: Pacer?) throws -> LoadReport {
    let service = try StallingService(stall: Self.stall)
    try service.start()
    return try LoadGenerator.run(
      Reads(["1"], count: Self.count), connections: 1, port: service.port, marker: "good",
      pacer: pacer)
  }

  private func slow(_ report: LoadReport) -> Int {
    report.latencies.count { $0 >= Int64(Self.stall) * 1_000_000 / 2 }
  }

  /// Requests that were due during the stall could not be sent, and waited too.
  @Test func `the latency of a paced request counts from its due time`() throws {
    let paced = try run(Pacer(count: Self.count, perSecond: 200))
    // About 40 requests are due in the first half of the stall.
    #expect(slow(paced) > 15)
    #expect(paced.latencies.count == Self.count)
  }

  @Test func `only answers of 200 are good`() throws {
    let report = try run(nil)
    #expect(report.good == Self.count - 1)
    #expect(report.others == [503: 1])
    #expect(throws: BenchError.self) { try report.requireAllGood("reads") }
    #expect(slow(report) >= 1)
  }

  @Test func `an answer without the marker is not good`() throws {
    let service = try StallingService(stall: 0)
    try service.start()
    let report = try LoadGenerator.run(
      Reads(["1"]), connections: 1, port: service.port, marker: "better")
    #expect(report.good == 0 && report.others == [200: 1])
  }

  @Test func `a pacer has its rate and exponential gaps`() throws {
    let due = Pacer(count: 100_000, perSecond: 1_000).due
    #expect(zip(due, due.dropFirst()).allSatisfy { $0 <= $1 })
    let seconds = Double(try #require(due.last)) / 1e9
    #expect(abs(seconds - 100) < 2)
    // Of exponential gaps a share of e to the -3 is longer than three times their mean.
    let long = zip(due, due.dropFirst()).count { $1 - $0 > 3_000_000 }
    #expect((4_500...5_500).contains(long))
  }
}
