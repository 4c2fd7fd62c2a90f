import Foundation
import Store
import StrictJSON
import Support
import Testing

/// `rebuild --apply`, `--rollback`, `--list`, `--prune`, `--keep` and `--only`, with and without a
/// running daemon.
@Suite struct RebuildSwitchTests {
  private func stop(_ daemon: RunningDaemon?) throws {
    if let daemon { #expect(try daemon.stop().code == 0) }
  }

  @Test(arguments: [false, true]) func `earlier projections are retained up to the given number`(
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
    for count in 1...3 {
      let applied = try installation.run("rebuild", "--apply")
      #expect(applied.code == 0, "\(applied)")
      #expect(applied.output.contains("what it replaced is retained: subledger rebuild --list"))
      let expected = ["live"] + Array(repeating: "kept", count: min(count, 2))
      #expect(try installation.roles() == expected)
    }
    let all = try installation.projections()
    #expect(all.allSatisfy { $0["digest"]?.string == digest && $0["rows"]?.integer == 3 })
    #expect(Set(all.compactMap { $0["name"]?.string }).count == 3)
    let text = try installation.run("rebuild", "--list").output
    #expect(text.contains("live") && text.contains(digest.prefix(12)))

    #expect(try installation.run("rebuild", "--apply", "--keep", "1").code == 0)
    #expect(try installation.roles() == ["live", "kept"])
    #expect(try installation.run("rebuild").code == 0)
    let pruned = try installation.run("rebuild", "--prune", "--keep", "1", "--json")
    #expect(try pruned.lines().compactMap { $0["role"]?.string } == ["live", "kept"])
    #expect(try installation.run("rebuild", "--prune").code == 0)
    #expect(try installation.roles() == ["live"])
    try stop(daemon)
    let files = try installation.files().keys.filter {
      $0.hasPrefix("entitlements-") && !$0.hasSuffix("-wal") && !$0.hasSuffix("-shm")
    }
    #expect(files.count == 1, "\(files)")
    #expect(try installation.verify().code == 0)
  }

  @Test(arguments: [false, true]) func `a rollback returns to the projection that was live before`(
    besideADaemon: Bool
  ) throws {
    let installation = try Installation.renewing(4)
    // A rollback returns to what was live, even if that was wrong.
    try installation.swapRow(of: "70001", for: "70000")
    let daemon = besideADaemon ? try installation.start() : nil
    let wrong = try #require(try installation.digest())
    let none = try installation.run("rebuild", "--rollback")
    #expect(none.code == 1, "\(none)")
    #expect(none.errors.contains("no projection is retained to return to"))
    #expect(try installation.digest() == wrong)
    #expect(try installation.run("rebuild", "--apply").code == 0)
    let right = try #require(try installation.digest())
    #expect(right != wrong)
    for digest in [wrong, right, wrong] {
      let back = try installation.run("rebuild", "--rollback", "--json")
      #expect(back.code == 0, "\(back)")
      #expect(try back.lines().first?["digest"]?.string == digest)
      if let daemon {
        let version = daemon.client().get("/version")?.json
        #expect(version?["digest"]?.string == digest)
      }
      #expect(try installation.verify().report["digest"]?.string == digest)
      #expect(try installation.run("verify").code == (digest == right ? 0 : 1))
    }
    try stop(daemon)
    #expect(try installation.digest() == wrong)
    // A daemon that starts does not undo a rollback.
    let again = try installation.start()
    #expect(
      again.client().get("/version")?.json?["digest"]?.string == wrong)
    #expect(try again.stop().code == 0)
  }

  @Test func `a rollback skips a damaged or missing projection`() throws {
    let installation = try Installation.renewing(2)
    for _ in 0..<2 { #expect(try installation.run("rebuild", "--apply").code == 0) }
    let retained = try installation.projections().dropFirst().compactMap { $0["name"]?.string }
    #expect(retained.count == 2)
    try Data("no projection".utf8).write(to: installation.data.appending(path: retained[0]))
    let back = try installation.run("rebuild", "--rollback", "--json")
    #expect(back.code == 0, "\(back)")
    #expect(try back.lines().first?["name"]?.string == retained[1])
    #expect(try installation.run("rebuild", "--prune").code == 0)
    let none = try installation.run("rebuild", "--rollback")
    #expect(none.code == 1, "\(none)")
    #expect(try installation.verify().code == 0)
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
