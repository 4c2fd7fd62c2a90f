import Foundation
import Ledger
import Platform
import Store
import Support
import Synchronization
import Testing

/// A fault is reported, loses nothing that was answered, and is recovered from without intervention
/// (promises 1 and 2).
///
/// A long run (`SUBLEDGER_LONG`) tries every operation, another some of each kind.
@Suite(.serialized) struct FaultTests {
  static let isWhole = ProcessInfo.processInfo.environment["SUBLEDGER_LONG"] != nil

  init() { Log.isSilent.store(true, ordering: .relaxed) }

  static func report(_ name: String, _ outcome: FaultSweep.Outcome) {
    print(
      "faults, \(name): \(outcome.runs) runs up to number \(outcome.last), "
        + "\(outcome.failures.count) failures")
    fflush(nil)
    for failure in outcome.failures { Issue.record("\(failure)") }
  }

  /// The kinds of faults, and the distance of those that are tried if not all are.
  static let kinds: [(kind: String, code: Int32, step: Int)] = [
    ("read", EIO, 29), ("write", EIO, 17), ("write", ENOSPC, 19), ("sync", EIO, 5),
    ("name", EIO, 7), ("name", ENOSPC, 8), ("write", EROFS, 41),
  ]

  @Test(arguments: kinds.indices, [false, true])
  func `a daemon survives a failing disk`(_ kind: Int, _ stays: Bool) throws {
    let test = try FaultTest()
    let (kind, code, step) = Self.kinds[kind]
    let sweep = FaultSweep(step: Self.isWhole ? 1 : step, first: Self.isWhole ? 1 : 3)
    let outcome = sweep.run("\(kind) \(code) \(stays ? "on" : "once")") { number in
      try test.run(
        InterceptedDisk.Fault(kind: kind, number: number, code: code, stays: stays))
    }
    Self.report("\(kind), errno \(code), \(stays ? "from then on" : "once")", outcome)
    #expect(outcome.runs > 1)
  }

  /// SQLite ignores it if the folder of a new -wal cannot be synced; the journal does not.
  @Test func `a data folder that cannot be synced ends the start`() throws {
    let disk = try InterceptedDisk()
    try disk.installation.start().stop()
    disk.intercept(
      tracing: false, InterceptedDisk.Fault(kind: "sync", number: 1, stays: true, ending: "/data"))
    let ended = try disk.installation.launch(
      ["serve", "--config", disk.installation.config.path]
    ).finish(within: 20)
    #expect(ended.code == 3, "\(ended)")
    disk.stopIntercepting()
    try disk.installation.start().stop()
  }

  /// Allocations fail in a library that reports it. There are thousands of them; some are tried,
  /// spread over the whole run.
  @Test(arguments: ["sqlite", "crypto", "zstd"])
  func `failed allocations of a library lose nothing`(_ library: String) throws {
    let test = try FaultTest()
    let all = try test.count(library)
    let step = max(1, all / (Self.isWhole ? 300 : 6))
    for stays in [false, true] {
      let sweep = FaultSweep(step: step, first: 1 + step / 2)
      let outcome = sweep.run("memory of \(library)") { number in
        let fault = InterceptedDisk.Fault(
          kind: library, number: number, code: ENOMEM, stays: stays)
        return try test.run(fault) && number < all + step
      }
      Self.report("\(library)'s \(all) allocations, \(stays ? "from then on" : "once")", outcome)
    }
  }

  // MARK: Commands

  @Test(arguments: CommandFaultTest.all) func `a command on a failing disk leaves whole files`(
    _ command: CommandFaultTest
  ) throws {
    let test = try FaultTest(known: 6, of: 10)
    let start = try command.prepare(test)
    for (kind, code, step) in Self.kinds {
      for stays in Self.isWhole ? [false, true] : [code == ENOSPC] {
        let sweep = FaultSweep(step: Self.isWhole ? 1 : step * 4, first: Self.isWhole ? 1 : 2)
        let outcome = sweep.run("\(command.name), \(kind) \(code)") { number in
          try command.run(
            test, start,
            InterceptedDisk.Fault(kind: kind, number: number, code: code, stays: stays))
        }
        Self.report(
          "\(command.name), \(kind), errno \(code), \(stays ? "from then on" : "once")", outcome)
      }
    }
  }
}

extension FaultTest {
  /// How many operations of a kind a run without a fault executes.
  func count(_ kind: String) throws -> Int {
    let disk = try disk()
    disk.intercept(tracing: false, InterceptedDisk.Fault(kind: kind, number: 1_000_000_000))
    let daemon = try disk.installation.start()
    try disk.post(bodies.map(\.body), to: daemon)
    try daemon.stop()
    return disk.counted
  }
}
