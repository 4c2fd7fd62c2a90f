import Foundation
import Platform
import StrictJSON
import Support
import Testing

/// `import` fills a journal from ids alone.
@Suite struct ImportTests {
  /// What each customer may use, without how it became known.
  private static let question =
    "SELECT original_transaction_id, status, gives_access, product_id, transaction_id, "
    + "expires_at_ms, auto_renew, grace_period_expires_at_ms, revoked_at_ms, gap, "
    + "pending_product_id FROM entitlement_v1 WHERE environment = 'Production' ORDER BY 1"

  static func rows(_ installation: Installation) throws -> [String] {
    let found = try installation.run("query", "--csv", question)
    guard found.code == 0 else { throw TestFailure("\(found)") }
    return found.output.split(whereSeparator: \.isNewline).dropFirst().map(String.init)
  }

  /// The rows that all notifications give, and an installation that has none of them.
  struct Played {
    let store: PlayedStore
    let expected: [String]
    var ids: [String] { expected.compactMap { $0.split(separator: ",").first.map(String.init) } }

    init(customers: Int, days: Int, seed: Int, recover: String = "off") throws {
      store = try PlayedStore(
        ["--customers", "\(customers)", "--days", "\(days)", "--seed", "\(seed)"],
        recover: recover)
      let other = try Installation(authority: store.installation.authority)
      let file = try other.file("all", try store.bodies())
      guard try other.run("ingest", file).code == 0 else { throw TestFailure("not ingested") }
      expected = try ImportTests.rows(other)
    }

    func write(_ text: String) throws -> String {
      let file = store.installation.folder.appending(path: "ids")
      try Data(text.utf8).write(to: file)
      return file.path
    }

    func fill(_ arguments: String...) throws -> CommandResult {
      let installation = store.installation
      return try installation.launch(
        ["import"] + arguments + ["--config", installation.config.path]
      ).finish(within: 120)
    }
  }

  @Test func `ids alone give the rows that all notifications would give`() throws {
    let played = try Played(customers: 40, days: 150, seed: 5)
    let list = try played.write(played.ids.joined(separator: "\n") + "\n")
    let first = try played.fill(list, "--json")
    #expect(first.code == 0, "\(first)")
    let report = try #require(try first.lines().last)
    #expect(report["found"]?["Production"]?.integer == Int64(played.ids.count))
    #expect(report["customers"]?.integer == Int64(played.ids.count))
    #expect(try Self.rows(played.store.installation) == played.expected)
    // Told again, nothing is new.
    let again = try #require(try played.fill(list, "--json").lines().last)
    #expect(again["journaled"]?.integer == 0)
    #expect(again["complete"]?.integer == Int64(played.ids.count))
    #expect(try played.store.installation.verify().code == 0)
    // The notifications that come after all change no row.
    let file = try played.store.installation.file("late", try played.store.bodies())
    #expect(try played.store.installation.run("ingest", file).code == 0)
    #expect(try Self.rows(played.store.installation) == played.expected)
  }

  @Test func `evidence, journaled and held, is in exports, bundles and backups`() throws {
    let played = try Played(customers: 5, days: 100, seed: 10)
    let installation = played.store.installation
    let list = try played.write(played.ids.joined(separator: "\n"))
    for _ in 0..<2 { #expect(try played.fill(list).code == 0) }
    let exported = try installation.run("export").output
    #expect(exported.contains("\"held\":true"))
    let other = try Installation(authority: installation.authority)
    let file = other.folder.appending(path: "export")
    try Data(exported.utf8).write(to: file)
    #expect(try other.run("ingest", "--keep-chain", file.path).code == 0)
    #expect(try PlayedStore.state(other).digest == PlayedStore.state(installation).digest)
    #expect(try other.run("export").output == exported)
    let id = try #require(played.ids.first)
    let bundle = installation.folder.appending(path: "bundle").path
    #expect(try installation.run("export", "--bundle", bundle, "--only", id).code == 0)
    #expect(try installation.run("verify", "--bundle", bundle).code == 0)
    let backup = installation.folder.appending(path: "backup").path
    #expect(try installation.run("backup", backup).code == 0)
    let restored = installation.folder.appending(path: "restored").path
    #expect(try installation.run("restore", backup, "--data", restored).code == 0)
    #expect(try installation.run("export", "--data", restored).output == exported)
  }

  @Test func `a CSV column is read, and what is no id is told`() throws {
    let played = try Played(customers: 3, days: 60, seed: 7)
    let id = try #require(played.ids.first)
    let list = try played.write(
      "name,original id\n\"Doe, Jane\",\(id)\nRoe,99999999999\nPoe,none\n")
    let byName = try played.fill(list, "--column", "original id", "--json")
    let report = try #require(try byName.lines().last)
    #expect(byName.code == 1 && report["found"]?["Production"]?.integer == 1, "\(byName)")
    #expect(report["unknown"]?["ids"]?.elements.first?.string == "99999999999")
    #expect(report["invalid_lines"]?.elements.map(\.integer) == [4])
    #expect(try played.fill(list, "--column", "2").output.contains("nothing new         1"))
    #expect(try played.fill(list, "--column", "age").code == 2)
    #expect(try played.fill(try played.write("nobody\n")).code == 2)
    #expect(try played.fill("/nowhere").code == 3)
  }

  @Test(arguments: [true, false]) func `a column of accounts says whose each purchase is`(
    besideDaemon: Bool
  ) throws {
    let played = try Played(customers: 4, days: 60, seed: 9)
    let installation = played.store.installation
    let ids = played.ids
    let list = try played.write(
      "id,user\n\(ids[0]),\"user, 1\"\n\(ids[1]),user-2\n\(ids[0]),user-2\n\(ids[2]),\n")
    let daemon = besideDaemon ? try installation.start() : nil
    let arguments = ["--column", "id", "--account-column"]
    let filled = try played.fill(list, arguments[0], arguments[1], arguments[2], "user", "--json")
    #expect(filled.code == 0, "\(filled)")
    #expect(try filled.lines().last?["claims"]?.integer == 3)
    for (account, expected) in [("user, 1", [ids[0]]), ("user-2", [ids[0], ids[1]])] {
      let shown = try installation.run("customer", account, "--by", "account", "--json").lines()
      let rows = ["subscriptions", "purchases"].flatMap { shown.first?[$0]?.elements ?? [] }
      let found = rows.compactMap { $0["original_transaction_id"]?.string }
      #expect(found.sorted() == expected.sorted(), "\(account)")
    }
    let again = try played.fill(list, arguments[0], arguments[1], arguments[2], "2", "--json")
    #expect(try again.lines().last?["claims"]?.integer == 0, "\(again)")
    #expect(try played.fill(list, "--account-column", "user").code == 2)
    try daemon?.stop()
    #expect(try installation.verify().code == 0)
    // A claim is no notification of version 1: the check of a bundle says what it is.
    let bundle = installation.folder.appending(path: "bundle.ndjson").path
    #expect(try installation.run("export", "--only", ids[1], "--bundle", bundle).code == 0)
    let checked = try installation.run("verify", "--bundle", bundle)
    #expect(
      checked.output.contains("1 of the events are statements of the ledger's owner"),
      "\(checked)")
    #expect(!checked.output.contains("events are V1"), "\(checked)")
  }

  @Test func `an import beside the daemon is handed over to it`() throws {
    let played = try Played(customers: 10, days: 60, seed: 8)
    let list = try played.write(played.ids.joined(separator: "\n"))
    let daemon = try played.store.installation.start()
    #expect(try played.fill(list).code == 0)
    #expect(try Self.rows(played.store.installation) == played.expected)
    let id = try #require(played.ids.first)
    #expect(try played.fill(list).code == 0)
    let row = daemon.client().get("/v1/entitlements/\(id)")?.json
    #expect(row?["confirmed_at"]?.integer != nil)
    #expect(try daemon.stop().code == 0)
  }

  @Test func `when Apple last said the same is in row, timeline and metrics`() throws {
    let played = try Played(customers: 5, days: 60, seed: 11)
    let installation = played.store.installation
    let list = try played.write(played.ids.joined(separator: "\n"))
    let daemon = try installation.start()
    let id = try #require(played.ids.first)
    #expect(try played.fill(list).code == 0)
    let before = Int64(Date().timeIntervalSince1970 * 1000)
    #expect(try played.fill(list).code == 0)
    let path = "/v1/entitlements/\(id)"
    let time = try #require(daemon.client().get(path)?.json?["confirmed_at"]?.integer)
    #expect(time >= before - 1)
    let timeline = try #require(daemon.client().get(path + "/history")?.json)
    #expect(timeline["confirmed_at"]?.integer == time)
    // As of an earlier time, it was not said yet.
    let earlier = daemon.client().get(path + "/history?known_at=\(before)")?.json
    #expect(earlier?["confirmed_at"]?.integer ?? 0 < before)
    let text = try installation.run("history", id).output
    #expect(text.hasSuffix("Apple, asked for it, last said the same at \(Timestamp.text(time)).\n"))
    let last = try installation.run("history", id, "--json").lines().last
    #expect(last?["object"]?.string == "confirmation")
    #expect(last?["confirmed_at"]?.integer == time)
    let labels = ["environment": "Production"]
    try daemon.command.wait(60, "a count") {
      let metrics = MetricsText(daemon.client().get("/metrics")?.text ?? "")
      let newest = metrics.value("subledger_confirmed_time_seconds", labels) ?? 0
      return metrics.faults.isEmpty && newest * 1000 >= Double(time)
        && metrics.value("subledger_rows_confirmed", labels) == Double(played.ids.count)
    }
    // A token that is narrowed to another app or environment is told nothing.
    for token in [Installation.otherAppsToken, Installation.sandboxToken] {
      let narrowed = daemon.client().get("/metrics", token: token)?.text ?? ""
      #expect(narrowed.contains("subledger_rows{") == false)
      #expect(!narrowed.contains("subledger_rows_confirmed{"))
      #expect(!narrowed.contains("subledger_confirmed_time_seconds{"))
    }
    #expect(try daemon.stop().code == 0)
  }
}
