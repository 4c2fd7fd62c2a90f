import Platform
import Testing

@testable import subledger_bench

/// The load generator must not flatter what it measures.
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

  /// Requests that were due during a stall waited too, though they could not be sent.
  @Test func aStallCountsForAllWhoWaited() throws {
    let paced = try run(Pacer(count: Self.count, perSecond: 200))
    // Some 40 fall due in its first half.
    #expect(slow(paced) > 15)
    #expect(paced.latencies.count == Self.count)
  }

  @Test func onlyAnswersOf200Count() throws {
    let report = try run(nil)
    #expect(report.good == Self.count - 1)
    #expect(report.others == [503: 1])
    #expect(throws: BenchError.self) { try report.requireAllGood("reads") }
    #expect(slow(report) >= 1)
  }

  @Test func anAnswerMustSayWhatIsExpected() throws {
    let service = try StallingService(stall: 0)
    try service.start()
    let report = try LoadGenerator.run(
      Reads(["1"]), connections: 1, port: service.port, marker: "better")
    #expect(report.good == 0 && report.others == [200: 1])
  }

  @Test func aPacerKeepsItsRate() throws {
    let due = Pacer(count: 100_000, perSecond: 1_000).due
    #expect(zip(due, due.dropFirst()).allSatisfy { $0 <= $1 })
    let seconds = Double(try #require(due.last)) / 1e9
    #expect(abs(seconds - 100) < 2)
    // Exponential gaps: e to the -3 of them are over three times as long as their mean.
    let long = zip(due, due.dropFirst()).count { $1 - $0 > 3_000_000 }
    #expect((4_500...5_500).contains(long))
  }
}
