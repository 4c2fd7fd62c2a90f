import Foundation
import StrictJSON
import Support
import Testing

/// `recover`: its report and its refusals.
@Suite struct RecoverTests {
  /// A store whose notifications never reached the ledger, although they all count as sent.
  private func delivered(_ customers: Int = 10, _ days: Int = 60) throws -> PlayedStore {
    try PlayedStore(["--customers", "\(customers)", "--days", "\(days)"])
  }

  private func run(_ store: PlayedStore, _ arguments: String...) throws -> CommandResult {
    try store.installation.launch(
      ["recover", "--config", store.installation.config.path] + arguments
    ).finish(within: 120)
  }

  @Test func `what Apple believes delivered is an alarm`() throws {
    let store = try delivered()
    let finished = try run(store, "--environment", "Production")
    #expect(finished.code == 1, "\(finished)")
    #expect(finished.output.contains("ALARM: Apple believes"), "\(finished)")
    #expect(finished.output.hasPrefix("Production  com.example.app  "), "\(finished)")
    let events = try store.installation.events()
    #expect(events.count == (try store.bodies()).count)
    let lines = try store.installation.run(
      "query", "--json", "SELECT DISTINCT arrival FROM journal_v1"
    ).lines()
    #expect(lines.compactMap { $0["arrival"]?.string } == ["history"])
    #expect(try store.installation.verify().code == 0)
    let again = try run(store, "--environment", "Production")
    #expect(again.code == 0 && again.output.contains(" 0 recovered"), "\(again)")
    let ids = events.compactMap { $0["original_transaction_id"]?.string }
    let id = try #require(ids.first)
    #expect(try store.installation.run("history", id).output.contains(", from Apple's history"))
  }

  @Test func `what an import has is no alarm, and what it does not have is one`() throws {
    let played = try ImportTests.Played(customers: 12, days: 60, seed: 9)
    let installation = played.store.installation
    let some = try played.write(played.ids.prefix(4).joined(separator: "\n"))
    #expect(try played.fill(some).code == 0)
    let imported = Set(
      try installation.events().compactMap { $0["original_transaction_id"]?.string })
    let bodies = Int64(try played.store.bodies().count)
    for arguments in [["--dry-run"], []] {
      let (code, app) = try played.store.recover(arguments)
      let alarms = try #require(app["delivered"]?["count"]?.integer)
      let known = try #require(app["before_import"]?.integer)
      #expect(code == 1 && alarms > 0 && known > 0 && alarms + known == bodies, "\(arguments)")
      guard arguments.isEmpty else { continue }
      let seqs = Set(app["delivered"]?["seqs"]?.elements.compactMap(\.integer) ?? [])
      let alarming = try installation.events().filter { seqs.contains($0["seq"]?.integer ?? 0) }
      let ids = alarming.compactMap { $0["original_transaction_id"]?.string }
      #expect(!ids.isEmpty && imported.isDisjoint(with: ids))
    }
  }

  @Test func `the first recover after an import of everybody raises no alarm`() throws {
    let played = try ImportTests.Played(customers: 12, days: 60, seed: 9)
    let list = try played.write(played.ids.joined(separator: "\n"))
    #expect(try played.fill(list).code == 0)
    let finished = try run(played.store, "--environment", "Production")
    #expect(finished.code == 0 && !finished.output.contains("ALARM"), "\(finished)")
    #expect(finished.output.contains("delivered elsewhere before the import"), "\(finished)")
  }

  @Test func `both environments are asked, and one that refuses does not stop the other`() throws {
    let store = try delivered()
    try store.control(#"{"neverReleased":true}"#)
    let finished = try run(store, "--since", "2026-01-01", "--json")
    #expect(finished.code == 3, "\(finished)")
    #expect(finished.errors.contains("In-App Purchase key"), "\(finished)")
    let apps = try #require(try finished.lines().last?["apps"]?.elements)
    #expect(apps.map { $0["environment"]?.string } == ["Production", "Sandbox"])
    #expect(apps[0]["error"]?.string != nil && apps[1]["error"]?.kind == .null)
    #expect(apps[1]["recovered"]?["events"]?.integer ?? 0 > 0)
    #expect(apps[1]["gone"]?["from"]?.integer != nil)
  }

  @Test func `an edge of the history that is nearer than documented is stepped over`() throws {
    let store = try delivered()
    try store.control(#"{"faults":[{"kind":"error","code":4000012,"count":30}]}"#)
    let (code, app) = try store.recover()
    #expect(code == 1 && app["error"]?.kind == .null && app["gone"]?.kind == .null)
    #expect(app["recovered"]?["events"]?.integer == Int64(try store.bodies().count))
  }

  @Test(arguments: [4_000_017, 4_000_014])
  func `a token that expires begins the slice again`(_ code: Int) throws {
    let store = try delivered(200, 3)
    try store.control(#"{"faults":[{"kind":"error","code":\#(code),"count":3}]}"#)
    let (_, app) = try store.recover()
    #expect(app["error"]?.kind == .null)
    #expect(app["recovered"]?["events"]?.integer == Int64(try store.bodies().count))
  }

  @Test func `what the ledger has and Apple does not list is named`() throws {
    let store = try delivered()
    let now = Int64(Date().timeIntervalSince1970 * 1000)
    let own = Sample.notification(1).setting("signedDate", .integer(now - 20 * PlayedStore.day))
    let file = try store.installation.file("own", [store.installation.sign(own)])
    #expect(try store.installation.run("ingest", file).code == 0)
    let (_, app) = try store.recover()
    #expect(app["unlisted"]?["count"]?.integer == 1)
    #expect(app["unlisted"]?["seqs"]?.elements.compactMap(\.integer) == [1])
  }

  @Test func `what cannot be asked exits with 2, and a second recover with 3`() throws {
    let store = try delivered()
    for arguments in [
      ["--app", "com.example.none"], ["--since", "2100-01-01"], ["--since", "-5"], ["x"],
      ["--since", "2026-02-01", "--until", "2026-01-01"], ["--environment", "Xcode"],
    ] {
      let finished = try store.installation.launch(
        ["recover", "--config", store.installation.config.path] + arguments
      ).finish()
      #expect(finished.code == 2, "\(arguments): \(finished)")
    }
    let bare = try Installation()
    #expect(try bare.run("recover").errors.contains("appStore"))
    try store.control(#"{"faults":[{"kind":"delay","wait":20000}]}"#)
    let running = try store.installation.launch(
      ["recover", "--config", store.installation.config.path])
    try running.wait(60, "a request") { try store.requests().all > 0 }
    let second = try run(store)
    #expect(second.code == 3 && second.errors.contains("another recover"), "\(second)")
    running.signal(SIGINT)
    let stopped = try running.finish(within: 15)
    #expect(stopped.code == 130 && stopped.errors.contains("run it again"), "\(stopped)")
  }
}
