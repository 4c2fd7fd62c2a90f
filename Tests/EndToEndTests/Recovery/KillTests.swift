import Foundation
import StrictJSON
import Support
import Testing

/// Commands that ask Apple, killed with SIGKILL at random points: the next run comes to the end,
/// and nothing is there twice or missing.
@Suite struct KillTests {
  /// Kills of each command in a run.
  private static let kills = TestCount.kills.number

  @Test(arguments: [false, true])
  func `a recover goes on after any kills, alone and beside the daemon`(
    isBesideDaemon: Bool
  ) throws {
    // Slowly, so that the kills come in between.
    let store = try PlayedStore(["--customers", "40", "--days", "170"], share: "0.2")
    let daemon = isBesideDaemon ? try store.installation.start() : nil
    let expected = try store.reference()
    var recovered: Int64 = 0
    var killed = 0
    for _ in 0..<Self.kills {
      let running = try store.installation.launch(
        [
          "recover", "--config", store.installation.config.path, "--environment", "Production",
          "--json",
        ])
      // Once it asks, however slow the machine is.
      let asked = try store.requests().all
      try running.wait(60, "a request") {
        try !running.isRunning || store.requests().all > asked
      }
      usleep(UInt32.random(in: 0...400_000))
      running.signal(SIGKILL)
      let ended = try running.finish(within: 10)
      if ended.code == 128 + SIGKILL { killed += 1 }
      // One that came to its end before the kill has reported what it recovered.
      let app = try ended.lines().last?["apps"]?.elements.first
      recovered += app?["recovered"]?["events"]?.integer ?? 0
    }
    let (_, app) = try store.recover()
    #expect(app["error"]?.kind == .null)
    // All of it counts as recovered once, whichever run journaled it.
    recovered += app["recovered"]?["events"]?.integer ?? 0
    #expect(recovered == expected.events)
    if let daemon { try daemon.stop() }
    let state = try PlayedStore.state(store.installation)
    #expect(state.digest == expected.digest && state.events == expected.events)
    #expect(try store.installation.files()["recovery.ndjson"] == nil)
    print("recover\(isBesideDaemon ? " beside a daemon" : ""): \(killed) of \(Self.kills) killed")
  }

  // MARK: Import and reconcile

  /// A ledger before a command that is killed, and what the command leaves if it is not.
  private struct Killed {
    let before: Installation
    let arguments: [String]
    let rows: [String]
    /// Seconds of a run that is not killed.
    let duration: Double

    /// - Parameter arguments: of the command, without the configuration.
    init(_ before: Installation, _ arguments: [String]) throws {
      (self.before, self.arguments) = (before, arguments)
      let reference = try Self.copy(before)
      let began = Date()
      let whole = try Self.launch(arguments, reference).finish()
      guard whole.code == 0 else { throw TestFailure("\(whole)") }
      duration = Date().timeIntervalSince(began)
      rows = try ImportTests.rows(reference)
    }

    private static func copy(_ installation: Installation) throws -> Installation {
      let copy = try installation.copy()
      let text = try String(contentsOf: installation.config, encoding: .utf8)
        .replacingOccurrences(of: installation.data.path, with: copy.data.path)
      try Data(text.utf8).write(to: copy.config)
      return copy
    }

    private static func launch(
      _ arguments: [String], _ installation: Installation
    ) throws -> RunningCommand {
      try installation.launch(arguments + ["--config", installation.config.path])
    }

    /// Kills a run at a random point, and completes it with another.
    ///
    /// - Parameter span: seconds within which it is killed.
    /// - Returns: whether the kill came before the end.
    func round(_ span: Double, _ generator: inout SplitMix64) throws -> Bool {
      let installation = try Self.copy(before)
      let running = try Self.launch(arguments, installation)
      usleep(UInt32(generator.below(Int64(span * 1_000_000) + 1)))
      running.signal(SIGKILL)
      let isKilled = try running.finish(within: 20).code == 128 + SIGKILL
      let again = try Self.launch(arguments, installation).finish()
      #expect(again.code == 0, "\(again)")
      #expect(try ImportTests.rows(installation) == rows)
      // With its chain and every proof. Nothing is there twice: asked again, nothing is new.
      let events = try PlayedStore.state(installation).events
      let last = try Self.launch(arguments, installation).finish()
      #expect(last.code == 0, "\(last)")
      #expect(try PlayedStore.state(installation).events == events)
      let names = try installation.files().keys
      #expect(!names.contains { $0.hasPrefix("import-") }, "progress is removed at the end")
      return isKilled
    }

    func rounds(_ name: String) throws {
      var generator = SplitMix64(seed: UInt64.random(in: 0...UInt64.max))
      var killed = 0
      var span = duration
      for _ in 0..<KillTests.kills {
        // A run may be faster than the first one was.
        if try round(span, &generator) { killed += 1 } else { span *= 0.8 }
      }
      print("\(name): \(killed) of \(KillTests.kills) killed")
      #expect(killed > 0, "all had ended before the kill")
    }
  }

  @Test func `an import goes on after a kill at any point`() throws {
    let played = try ImportTests.Played(customers: 15, days: 100, seed: 6)
    let list = try played.write(played.ids.joined(separator: "\n"))
    try FileManager.default.createDirectory(
      at: played.store.installation.data, withIntermediateDirectories: true)
    let killed = try Killed(played.store.installation, ["import", list])
    #expect(killed.rows == played.expected)
    try killed.rounds("import")
  }

  @Test func `a reconcile goes on after a kill at any point`() throws {
    let played = try ImportTests.Played(customers: 15, days: 150, seed: 9)
    let installation = played.store.installation
    // Only the first word of each customer arrived.
    let first = try played.store.bodies().filter { ReconcileTests.type(of: $0) == "SUBSCRIBED" }
    let file = try installation.file("first", first)
    #expect(try installation.run("ingest", file).code == 0)
    let before = try ImportTests.rows(installation)
    let killed = try Killed(installation, ["reconcile", "--all", "--environment", "Production"])
    #expect(killed.rows != before)
    try killed.rounds("reconcile")
  }
}
