import Foundation
import Ledger
import Support
import Testing

/// Simulated histories of two daemons on one shared journal, each from a seed: a fickle load
/// balancer, commits of unknown outcome, failovers, crashes, restored copies, and a shared journal
/// that forgets what it said was durable.
@Suite struct SharedSimulationTests {
  private static let count = TestCount.sharedSimulations.number
  private static let first = TestSeed.number(usual: usual)
  private static let usual: UInt64 = 20_260_101
  private static let workers = 2

  private static func violation(
    _ schedule: SharedSchedule, _ fixtures: Fixtures, _ receiver: Receiver
  ) -> String? {
    do {
      try SharedCluster(schedule, fixtures, receiver).run()
      return nil
    } catch {
      return "\(error)"
    }
  }

  @Test(arguments: 0..<workers) func `every history of two daemons keeps the promises`(
    number: Int
  ) throws {
    let fixtures = try Fixtures.shared.get()
    let receiver = try Receiver(fixtures.configuration)
    for index in stride(from: number, to: Self.count, by: Self.workers) {
      let seed = Self.first + UInt64(index)
      let schedule = SharedSchedule(seed: seed, fixtures)
      guard let violation = Self.violation(schedule, fixtures, receiver) else { continue }
      let small = schedule.shrunk { Self.violation($0, fixtures, receiver) != nil }
      Issue.record(
        """
        seed \(seed): \(violation)
        shrunk: \(Self.violation(small, fixtures, receiver) ?? "not reproduced")
        \(small.description(fixtures))
        """)
      return
    }
  }

  /// Otherwise the other test would check little.
  @Test func `all kinds of answers and faults occur`() throws {
    let fixtures = try Fixtures.shared.get()
    let receiver = try Receiver(fixtures.configuration)
    var traces = ""
    for seed in Self.usual..<Self.usual + 60 {
      let cluster = try SharedCluster(SharedSchedule(seed: seed, fixtures), fixtures, receiver)
      try cluster.run()
      traces += cluster.trace.joined(separator: "\n")
    }
    for wanted in [
      "accepted", "duplicate", "conflict", "quarantined", "unavailable(\"shared_journal\")",
      "failed: ", "start: ", "claim: accepted", "failOver", "forget", "restore", "wipe",
    ] {
      let isFound = traces.contains(wanted)
      #expect(isFound, "\(wanted)")
    }
  }
}
