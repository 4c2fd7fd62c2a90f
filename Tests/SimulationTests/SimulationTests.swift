import Foundation
import Ledger
import Store
import Support
import Testing

/// Simulated histories of the whole ledger, each from a seed, with Apple's retries, lost requests
/// and answers, crashes during a write, failing syncs, full disks, clock changes and rebuilds.
/// After every step the promises are checked.
@Suite struct SimulationTests {
  private static let count = TestCount.simulations.number
  private static let first = TestSeed.number(usual: 20_260_101)
  /// The number of histories that run at the same time.
  private static let workers = 2

  /// What consecutive histories share.
  private struct Worker {
    let fixtures: Fixtures
    let receiver: Receiver
    /// A folder as after a start without notifications. Every fourth history begins without a
    /// folder.
    let template: Scratch

    init() throws {
      fixtures = try Fixtures.shared.get()
      receiver = try Receiver(fixtures.configuration)
      template = try Scratch()
      let ledger = try DeterministicLedger.open(folder, now: 0, clock: { 0 })
      try ledger.prepareProjection { true }
      ledger.stop()
    }

    var folder: DataFolder { DataFolder(path: template.path + "/data") }

    func cluster(_ schedule: FaultSchedule, _ seed: UInt64) throws -> SimulatedCluster {
      try SimulatedCluster(
        schedule, fixtures, receiver, template: seed % 4 == 0 ? nil : folder.path)
    }

    /// The violation that a schedule causes, or nil.
    func violation(_ schedule: FaultSchedule, _ seed: UInt64) -> String? {
      do {
        try cluster(schedule, seed).run()
        return nil
      } catch {
        return "\(error)"
      }
    }
  }

  @Test(arguments: 0..<workers) func `every history keeps the promises`(number: Int) throws {
    let worker = try Worker()
    for index in stride(from: number, to: Self.count, by: Self.workers) {
      let seed = Self.first + UInt64(index)
      let schedule = FaultSchedule(seed: seed, worker.fixtures)
      guard let violation = worker.violation(schedule, seed) else { continue }
      let small = schedule.shrunk { worker.violation($0, seed) != nil }
      Issue.record(
        """
        seed \(seed): \(violation)
        shrunk: \(worker.violation(small, seed) ?? "not reproduced")
        \(small.description(worker.fixtures))
        """)
      return
    }
  }

  /// Violations that random schedules found once, shrunk and since fixed.
  @Test(arguments: RegressionSchedule.all) func `schedules that once broke a promise keep it`(
    found: RegressionSchedule
  ) throws {
    let worker = try Worker()
    for seed: UInt64 in [1, 4] {
      #expect(worker.violation(found.schedule, seed) == nil, "\(found.name)")
    }
  }

  /// So that a failure can be reproduced from its seed.
  @Test func `the same seed gives the same history`() throws {
    let worker = try Worker()
    for seed in Self.first..<Self.first + 10 {
      let schedule = FaultSchedule(seed: seed, worker.fixtures)
      let clusters = try (0..<2).map { _ in
        let cluster = try worker.cluster(schedule, seed)
        try cluster.run()
        return cluster
      }
      #expect(clusters[0].trace == clusters[1].trace, "seed \(seed)")
      #expect(clusters[0].observed.journal == clusters[1].observed.journal, "seed \(seed)")
    }
  }

  /// Otherwise the other tests would check little.
  @Test func `all kinds of notifications and faults occur`() throws {
    let worker = try Worker()
    var traces = ""
    for seed in Self.first..<Self.first + 120 {
      let cluster = try worker.cluster(FaultSchedule(seed: seed, worker.fixtures), seed)
      try cluster.run()
      traces += cluster.trace.joined(separator: "\n")
    }
    for wanted in [
      "accepted", "duplicate", "conflict", "quarantined", "unavailable(\"disk_full\")",
      "unavailable(\"journal\")", "the journal failed", "start: ", "arrivesTwice", "answerIsLost",
      "is absent", "is catchingUp", "is following", "is unwritable",
    ] {
      let isFound = traces.contains(wanted)
      #expect(isFound, "\(wanted)")
    }
    let kinds = worker.fixtures.items.map { item in
      switch item.kind {
      case .event: "event"
      case .foreign: "foreign"
      case .refused: "refused"
      }
    }
    #expect(kinds.count { $0 == "event" } == 31 && kinds.count { $0 == "foreign" } == 3)
  }
}
