import Foundation
import JournalStore
import LedgerEngine
import Support
import Testing

/// Thousands of histories of the whole ledger, each from a seed: Apple's retries, lost requests and
/// answers, crashes in the middle of a write, failing syncs, full disks, a clock that is set, rows
/// rebuilt meanwhile; and after every step the promises.
@Suite struct SimulationTests {
  /// `SUBLEDGER_SIMULATIONS` makes it more; `SUBLEDGER_SIMULATION_SEED` starts elsewhere.
  private static let count = setting("SUBLEDGER_SIMULATIONS") ?? 150
  private static let first = UInt64(setting("SUBLEDGER_SIMULATION_SEED") ?? 20_260_101)
  /// As many at once.
  private static let lanes = 2

  private static func setting(_ name: String) -> Int? {
    ProcessInfo.processInfo.environment[name].flatMap(Int.init)
  }

  /// What all histories of a lane share.
  private struct Lane {
    let mail: Fixtures
    let receiver: Receiver
    /// A folder as after a first start that came to nothing; every fourth history begins with none.
    let template: Scratch

    init() throws {
      mail = try Fixtures.shared.get()
      receiver = try Receiver(mail.configuration)
      template = try Scratch()
      let ledger = try DeterministicLedger.open(folder, now: 0, clock: { 0 })
      try ledger.prepareProjection { true }
      ledger.stop()
    }

    var folder: DataFolder { DataFolder(path: template.path + "/data") }

    func world(_ course: FaultSchedule, _ seed: UInt64) throws -> SimulatedCluster {
      try SimulatedCluster(course, mail, receiver, template: seed % 4 == 0 ? nil : folder.path)
    }

    /// What is wrong with a course; nil where nothing is.
    func fault(_ course: FaultSchedule, _ seed: UInt64) -> String? {
      do {
        try world(course, seed).play()
        return nil
      } catch {
        return "\(error)"
      }
    }
  }

  @Test(arguments: 0..<lanes) func everyHistoryKeepsThePromises(number: Int) throws {
    let lane = try Lane()
    for index in stride(from: number, to: Self.count, by: Self.lanes) {
      let seed = Self.first + UInt64(index)
      let course = FaultSchedule(seed: seed, lane.mail)
      guard let fault = lane.fault(course, seed) else { continue }
      let small = course.shrunk { lane.fault($0, seed) != nil }
      Issue.record(
        """
        seed \(seed): \(fault)
        shrunk: \(lane.fault(small, seed) ?? "it does not happen again")
        \(small.description(lane.mail))
        """)
      return
    }
  }

  /// What was found by chance, shrunk, and mended: it stays so.
  @Test(arguments: RegressionSchedules.all) func whatWasFoundOnceIsMended(
    found: RegressionSchedules
  ) throws {
    let lane = try Lane()
    for seed: UInt64 in [1, 4] {
      #expect(lane.fault(found.course, seed) == nil, "\(found.name)")
    }
  }

  /// What a seed says happens again to the letter: a failure can be looked at twice.
  @Test func theSameSeedIsTheSameHistory() throws {
    let lane = try Lane()
    for seed in Self.first..<Self.first + 10 {
      let course = FaultSchedule(seed: seed, lane.mail)
      let worlds = try (0..<2).map { _ in
        let world = try lane.world(course, seed)
        try world.play()
        return world
      }
      #expect(worlds[0].trace == worlds[1].trace, "seed \(seed)")
      #expect(worlds[0].seen.journal == worlds[1].seen.journal, "seed \(seed)")
    }
  }

  /// All kinds of mail and of trouble are met; otherwise the rest says little.
  @Test func thereIsTrouble() throws {
    let lane = try Lane()
    var words = ""
    for seed in Self.first..<Self.first + 120 {
      let world = try lane.world(FaultSchedule(seed: seed, lane.mail), seed)
      try world.play()
      words += world.trace.joined(separator: "\n")
    }
    for wanted in [
      "accepted", "duplicate", "conflict", "quarantined", "unavailable(\"disk_full\")",
      "unavailable(\"journal\")", "the journal failed", "start: ", "comesTwice", "answerIsLost",
    ] { #expect(words.contains(wanted), "\(wanted)") }
    let kinds = lane.mail.items.map { item in
      switch item.kind {
      case .event: "event"
      case .foreign: "foreign"
      case .nothing: "nothing"
      }
    }
    #expect(kinds.count { $0 == "event" } == 31 && kinds.count { $0 == "foreign" } == 3)
  }
}
