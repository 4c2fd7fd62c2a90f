import Foundation
import Store
import StrictJSON
import Support
import Testing

/// `rebuild --apply` and `--only`, with and without a running daemon.
@Suite struct RebuildSwitchTests {
  private func stop(_ daemon: RunningDaemon?) throws {
    if let daemon { #expect(try daemon.stop().code == 0) }
  }

  @Test(arguments: [false, true]) func `what was live before is kept, and older ones are removed`(
    besideADaemon: Bool
  ) throws {
    let installation = try Installation.renewing(3)
    let daemon = besideADaemon ? try installation.start() : nil
    let digest = try #require(try installation.digest())
    #expect(try installation.roles() == ["live"])
    let built = try installation.run("rebuild", "--json")
    #expect(built.code == 0, "\(built)")
    #expect(try built.lines().last?["rows"]?.integer == 3)
    #expect(try built.lines().last?["events"]?.integer == 6)
    #expect(try installation.roles() == ["live", "built"])
    for _ in 1...3 {
      let before = try #require(try ProjectionList.read(installation.dataFolder).live)
      let applied = try installation.run("rebuild", "--apply")
      #expect(applied.code == 0, "\(applied)")
      #expect(applied.output.contains("what it replaced is kept for the program that made it"))
      #expect(try installation.roles() == ["live", "kept"])
      #expect(try ProjectionList.read(installation.dataFolder).names.last == before)
      #expect(try installation.digest() == digest)
    }
    try stop(daemon)
    let files = try installation.files().keys.filter {
      $0.hasPrefix("entitlements-") && !$0.hasSuffix("-wal") && !$0.hasSuffix("-shm")
    }
    #expect(files.count == 2, "\(files)")
    #expect(try installation.verify().code == 0)
  }

  /// What hinders folding one customer again, as its error says.
  @Test func `--only names what hinders it`() throws {
    let installation = try Installation.renewing(1)
    let folder = installation.dataFolder
    let live = folder.projection(named: try #require(try ProjectionList.read(folder).live))
    func expect(_ text: String, _ code: Int32 = 1, _ location: SourceLocation = #_sourceLocation)
      throws
    {
      let refused = try installation.run("rebuild", "--only", "70000")
      #expect(refused.code == code, "\(refused)", sourceLocation: location)
      #expect(refused.errors.contains(text), "\(refused)", sourceLocation: location)
    }
    try installation.executeInProjection("UPDATE entitlement SET checksum = checksum + 1")
    try expect("the live projection is damaged")
    try installation.executeInProjection("PRAGMA user_version = 99")
    try expect("the live rows are of another version")
    try Data("nothing".utf8).write(to: URL(filePath: live))
    try expect("the live projection is damaged")
    try FileManager.default.removeItem(atPath: live)
    try expect("no rows are live")
    #expect(try installation.run("rebuild", "--apply").code == 0)
    #expect(try installation.run("rebuild", "--only", "70000").code == 0)
    // The journal is named as damaged, or as newer, and not the rows.
    let journal = try SQLiteConnection.open(folder.journal, .write)
    try journal.execute("PRAGMA user_version = 999")
    journal.close()
    try expect("newer", 4)
    try Data("nothing".utf8).write(to: installation.journal)
    try expect("restore a backup")
  }

  @Test(arguments: [false, true]) func `--only folds the rows of one customer again`(
    besideADaemon: Bool
  ) throws {
    let installation = try Installation.renewing(3)
    let good = try installation.run("entitlement", "70001", "--json").lines().first?.value
      .setting("as_of", nil).text
    let digest = try #require(try installation.digest())
    try installation.swapRow(of: "70001", for: "70000")
    let daemon = besideADaemon ? try installation.start() : nil
    #expect(try installation.run("verify").code == 1)
    let unknown = try installation.run("rebuild", "--only", "4711")
    #expect(unknown.code == 1 && unknown.errors.contains("no events with this id"), "\(unknown)")
    let fine = try installation.run("rebuild", "--only", "70002")
    #expect(fine.code == 0 && fine.output.contains("1 folded again, 0 changed"), "\(fine)")
    let repaired = try installation.run("rebuild", "--only", "70001", "--json")
    #expect(repaired.code == 0, "\(repaired)")
    let counts = try #require(try repaired.lines().last)
    #expect(counts["streams"]?.integer == 1 && counts["changed"]?.integer == 1)
    if let daemon {
      let row = daemon.client().get("/v1/entitlements/70001")?.json?.value
      #expect(row?.setting("as_of", nil).text == good)
    }
    #expect(try installation.digest() == digest)
    try stop(daemon)
    let row = try installation.run("entitlement", "70001", "--json").lines().first?.value
    #expect(row?.setting("as_of", nil).text == good)
    #expect(try installation.verify().code == 0)
    let strange = try installation.run("rebuild", "--only", "70001'/../x")
    #expect(strange.code == 2 || strange.code == 1, "\(strange)")
  }
}
