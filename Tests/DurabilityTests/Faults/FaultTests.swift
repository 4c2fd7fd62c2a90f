import Foundation
import JournalStore
import LedgerEngine
import Observability
import Support
import Synchronization
import Testing

/// What fails is said, costs nothing that was answered, and passes without anybody's hand
/// (promises 1 and 2).
///
/// SUBLEDGER_FAULTS=all tries every operation; otherwise some of each kind are tried.
@Suite(.serialized) struct FaultTests {
  static let isWhole = ProcessInfo.processInfo.environment["SUBLEDGER_FAULTS"] == "all"

  init() { Log.isSilent.store(true, ordering: .relaxed) }

  static func report(_ what: String, _ outcome: FaultLadder.Outcome) {
    print(
      "faults, \(what): \(outcome.runs) runs up to number \(outcome.last), "
        + "\(outcome.failures.count) failures")
    fflush(nil)
    for failure in outcome.failures { Issue.record("\(failure)") }
  }

  /// Of each kind so many, far apart, where not all are wanted.
  static let kinds: [(kind: String, code: Int32, step: Int)] = [
    ("read", EIO, 29), ("write", EIO, 17), ("write", ENOSPC, 19), ("sync", EIO, 5),
    ("name", EIO, 7), ("name", ENOSPC, 11), ("write", EROFS, 41),
  ]

  @Test(arguments: kinds.indices, [false, true])
  func theDiskFailsUnderADaemon(_ kind: Int, _ stays: Bool) throws {
    let trial = try FaultTest()
    let (kind, code, step) = Self.kinds[kind]
    let ladder = FaultLadder(step: Self.isWhole ? 1 : step, first: Self.isWhole ? 1 : 3)
    let outcome = ladder.climb("\(kind) \(code) \(stays ? "on" : "once")") { number in
      try trial.run(
        WatchedDisk.Fault(kind: kind, number: number, code: code, stays: stays))
    }
    Self.report("\(kind), errno \(code), \(stays ? "from then on" : "once")", outcome)
    #expect(outcome.runs > 1)
  }

  /// SQLite goes on where the folder of a new -wal cannot be synced; a journal does not.
  @Test func aFolderThatIsNotSyncedEndsTheStart() throws {
    let disk = try WatchedDisk()
    try disk.installation.start().stop()
    disk.watch(
      tracing: false, WatchedDisk.Fault(kind: "sync", number: 1, stays: true, ending: "/data"))
    let ended = try disk.installation.launch(
      ["serve", "--config", disk.installation.config.path]
    ).finish(within: 20)
    #expect(ended.code == 3, "\(ended)")
    disk.unwatch()
    try disk.installation.start().stop()
  }

  /// A memory that is full for a moment, in a library that can say so. There are thousands of
  /// places; some of them are tried, spread over the whole run.
  @Test(arguments: ["sqlite", "crypto", "zstd"]) func memoryFails(_ library: String) throws {
    let trial = try FaultTest()
    let all = try trial.count(library)
    let step = max(1, all / (Self.isWhole ? 300 : 6))
    for stays in [false, true] {
      let ladder = FaultLadder(step: step, first: 1 + step / 2)
      let outcome = ladder.climb("memory of \(library)") { number in
        let fault = WatchedDisk.Fault(
          kind: library, number: number, code: ENOMEM, stays: stays)
        return try trial.run(fault) && number < all + step
      }
      Self.report("\(library)'s \(all) allocations, \(stays ? "from then on" : "once")", outcome)
    }
  }

  // MARK: Commands

  @Test(arguments: CommandFaultTest.all) func theDiskFailsUnderACommand(
    _ command: CommandFaultTest
  ) throws {
    let trial = try FaultTest(known: 6, of: 10)
    let start = try command.prepare(trial)
    for (kind, code, step) in Self.kinds {
      for stays in Self.isWhole ? [false, true] : [code == ENOSPC] {
        let ladder = FaultLadder(step: Self.isWhole ? 1 : step * 4, first: Self.isWhole ? 1 : 2)
        let outcome = ladder.climb("\(command.name), \(kind) \(code)") { number in
          try command.run(
            trial, start,
            WatchedDisk.Fault(kind: kind, number: number, code: code, stays: stays))
        }
        Self.report(
          "\(command.name), \(kind), errno \(code), \(stays ? "from then on" : "once")", outcome)
      }
    }
  }
}

extension FaultTest {
  /// How many operations of a kind a run without a fault has.
  func count(_ kind: String) throws -> Int {
    let disk = try disk()
    disk.watch(tracing: false, WatchedDisk.Fault(kind: kind, number: 1_000_000_000))
    let daemon = try disk.installation.start()
    try disk.post(bodies.map(\.body), to: daemon)
    try daemon.stop()
    return disk.counted
  }
}
