import AppStoreSimulator
import Foundation
import SignedData
import Store
import StrictJSON
import Support
import Testing

/// Files of bodies that a queue or a dead letter box kept, in which anybody may have written: only
/// what was signed is taken from them, and nothing that the owner alone may say (promise 3).
@Suite struct HostileLineTests {
  private static let count = TestCount.hostileLines.number
  private static let seed = TestSeed.number(usual: 20_261_128)
  private static let pro = ("entitlements", JSONValue.object([("pro", .array([.string("pro.*")]))]))

  /// A ledger with one customer, whose daemon journaled the mapping of products.
  private func filled() throws -> Installation {
    let installation = try Installation()
    try installation.configure(with: [Self.pro])
    let daemon = try installation.start()
    #expect(daemon.client().post(try installation.sign(Sample.notification(1)))?.status == 200)
    #expect(try daemon.stop().code == 0)
    return installation
  }

  /// What the owner said, as the journal has it.
  private func said(_ installation: Installation) throws -> [String] {
    try installation.events().compactMap { event in
      let source = event["source"]?.string ?? ""
      return ["account", "grant", "catalog"].contains(source)
        ? "\(event["seq"]?.integer ?? 0) \(source)" : nil
    }
  }

  private func expectCounts(
    _ taken: CommandResult, lines: Int, accepted: Int, refused: Int,
    location: SourceLocation = #_sourceLocation
  ) throws {
    let counts = try #require(try taken.lines().last, "\(taken)", sourceLocation: location)
    let found = ["lines", "accepted", "refused"].map { counts[$0]?.integer ?? -1 }
    #expect(
      found == [Int64(lines), Int64(accepted), Int64(refused)] && taken.code == 1, "\(taken)",
      sourceLocation: location)
  }

  @Test(arguments: [false, true])
  func `what the owner alone may say is refused line by line, and the rest goes on`(
    besideDaemon: Bool
  ) throws {
    let installation = try filled()
    let (before, mapping) = (
      try said(installation), try installation.run("entitlements", "--json").output
    )
    let daemon = besideDaemon ? try installation.start() : nil
    var random = SeededGenerator(seed: Self.seed, stream: 1)
    var lines = (0..<Self.count).map { _ in HostileLine.owners(&random) }
    for number in 2...5 {
      lines.insert(
        try installation.sign(Sample.notification(number)), at: lines.count * (number - 1) / 5)
    }
    let file = try installation.file(
      "kept", lines + [try installation.sign(Sample.notification(6))])
    let taken = try installation.run("ingest", file, "--json")
    try expectCounts(taken, lines: Self.count + 5, accepted: 5, refused: Self.count)
    #expect(taken.errors.contains("line 1 was refused: owner_statement"), "\(taken)")
    #expect(taken.errors.contains("nobody signed"), "\(taken)")
    // It still stops at another bad line, and names that one.
    let bad = try installation.file("bad", [lines[0], Array("{}".utf8), lines[0]])
    let stopped = try installation.run("ingest", bad, "--json")
    try expectCounts(stopped, lines: 2, accepted: 0, refused: 2)
    #expect(stopped.errors.contains("line 2 was refused: envelope"), "\(stopped)")
    #expect(try said(installation) == before)
    if let daemon { #expect(try daemon.stop().code == 0) }
    #expect(try installation.run("entitlements", "--json").output == mapping)
    #expect(try installation.verify().code == 0)
  }

  @Test(arguments: [false, true])
  func `of hostile lines of every kind nothing is taken`(besideDaemon: Bool) throws {
    let installation = try filled()
    let before = try installation.events().count
    let daemon = besideDaemon ? try installation.start() : nil
    var random = SeededGenerator(seed: Self.seed, stream: 2)
    let seeds = try HostileLine.Seeds(installation)
    let lines = (0..<Self.count).map { _ in HostileLine.any(seeds, &random) }
    let last = try installation.sign(Sample.notification(6))
    let file = try installation.file("kept", lines + [last])
    let taken = try installation.run("ingest", file, "--json", "--skip-bad")
    #expect(!taken.errors.contains("defect"), "\(taken)")
    try expectCounts(taken, lines: Self.count + 1, accepted: 1, refused: Self.count)
    #expect(try installation.events().count == before + 1)
    if let daemon { #expect(try daemon.stop().code == 0) }
    #expect(try installation.verify().code == 0)
  }

  /// Whoever makes a file can make its chain too.
  @Test func `a mapping in an export with its chain must be one that could be configured`() throws {
    let installation = try Installation()
    for (index, wrong) in HostileLine.mappings.enumerated() {
      let line = HostileLine.chained(wrong)
      let target = "\(installation.folder.path)/wrong-\(index)"
      let file = try installation.file("wrong", [line])
      let taken = try installation.run("ingest", file, "--keep-chain", "--data", target)
      #expect(taken.code == 1 && taken.errors.contains("owner_statement"), "\(wrong) \(taken)")
      #expect(try installation.run("entitlements", "--json", "--data", target).output.isEmpty)
    }
    let target = "\(installation.folder.path)/right-data"
    let right = HostileLine.statement(HostileLine.mapping(["pro.*"], 86_400_000))
    let file = try installation.file("right", [HostileLine.chained(right)])
    #expect(try installation.run("ingest", file, "--keep-chain", "--data", target).code == 0)
    let shown = try installation.run("entitlements", "--json", "--data", target)
    #expect(shown.output.contains("\"access_leeway_ms\":86400000"), "\(shown)")
    // Without its chain the same line is refused.
    #expect(try installation.run("ingest", file, "--data", "\(target)-2").code == 1)
  }
}
