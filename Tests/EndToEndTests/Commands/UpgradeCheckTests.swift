import Foundation
import Store
import StrictJSON
import Support
import Testing

/// `upgrade-check`: what the start of this program would change.
@Suite struct UpgradeCheckTests {
  private func check(
    _ installation: Installation, _ arguments: String...
  ) throws -> (code: Int32, report: JSONElement?, result: CommandResult) {
    let result = try installation.run(["upgrade-check", "--json"] + arguments)
    return (result.code, try result.lines().first, result)
  }

  private func edit(_ path: String, _ sql: String) throws {
    let connection = try SQLiteConnection.open(path, .write)
    defer { connection.close() }
    try connection.execute(sql)
    try connection.checkpointTruncate()
  }

  @Test func `beside a daemon of the same program nothing changes`() throws {
    let installation = try Installation.renewing(3)
    let daemon = try installation.start()
    let own = try installation.launch(["help", "configuration"]).finish()
    let keys = try installation.file("keys", [Array(own.output.utf8)])
    let (code, report, result) = try check(installation, "--keys", keys)
    #expect(code == 0, "\(result)")
    #expect(report?["starts"]?.boolean == true && report?["can_return"]?.boolean == true)
    #expect(report?["same_fold"]?.boolean == true)
    #expect(report?["from"]?.string != nil && report?["from"]?.string == report?["to"]?.string)
    #expect(report?["migrations"]?.elements.isEmpty == true)
    for kind in ["new", "gone", "changed"] {
      #expect(report?["keys"]?[kind]?.elements.isEmpty == true, "\(kind)")
    }
    let text = try installation.run("upgrade-check")
    #expect(text.code == 0 && text.output.contains("nothing changes but the program"), "\(text)")
    _ = try daemon.stop()
  }

  @Test func `migrations are named, and that the old program cannot come back`() throws {
    let installation = try Installation.renewing(1)
    try edit(
      installation.journal.path,
      "DELETE FROM migration WHERE number > 9; PRAGMA user_version = 9")
    let before = try Data(contentsOf: installation.journal)
    let (code, report, result) = try check(installation)
    #expect(code == 1, "\(result)")
    #expect(report?["can_return"]?.boolean == false && report?["starts"]?.boolean == true)
    #expect(
      report?["migrations"]?.elements.compactMap(\.string) == [
        "10 claim of the journal", "11 account_pages of the journal",
      ])
    #expect(try Data(contentsOf: installation.journal) == before, "it only reads")
  }

  @Test func `to compare and to query migrates nothing, and a start that migrates says so`() throws
  {
    let installation = try Installation.renewing(2)
    try edit(
      installation.journal.path,
      "DELETE FROM migration WHERE number > 10; PRAGMA user_version = 10")
    let before = try Data(contentsOf: installation.journal)
    let compared = try installation.run("rebuild", "--diff")
    #expect(compared.code == 0 && compared.errors.contains("judges it by itself"), "\(compared)")
    // Rows of a layout that had no seats.
    try installation.executeInProjection(
      """
      DROP VIEW refund_v1; DROP VIEW transaction_v1;
      ALTER TABLE transaction_line DROP COLUMN seats;
      CREATE VIEW transaction_v1 AS SELECT transaction_id FROM transaction_line;
      PRAGMA user_version = 1
      """)
    let asked = try installation.run("query", "SELECT count(*) FROM transaction_v1", "--csv")
    #expect(asked.code == 0 && asked.output.hasPrefix("count(*)\n"), "\(asked)")
    #expect(try Data(contentsOf: installation.journal) == before, "it only reads")
    let daemon = try installation.start()
    try daemon.logged("journal_migrated", "\"from\":10", "\"to\":11")
    // The way back: the journal as it was, once; what is erased is in no copy of it.
    try daemon.logged("journal_kept", "\"schema\":10")
    func kept() throws -> [URL] {
      try FileManager.default.contentsOfDirectory(
        at: installation.data, includingPropertiesForKeys: nil
      ).filter { $0.lastPathComponent.hasPrefix("journal-before-") }
    }
    let copy = try #require(try kept().first)
    let connection = try SQLiteConnection.open(copy.path, .immutable)
    #expect(try connection.statement("PRAGMA user_version").first { $0.int(0) } == 10)
    connection.close()
    #expect(try daemon.stop().code == 0)
    try installation.configure(
      with: [("entitlements", .object([("pro", .array([.string("pro.*")]))]))])
    let granted = try installation.run(
      "grant", "user-1", "--entitlement", "pro", "--by", "account")
    #expect(granted.code == 0, "\(granted)")
    #expect(try kept().count == 1)
    #expect(try installation.run("erase", "--account", "user-1", "--yes").code == 0)
    #expect(try kept().isEmpty)
  }

  @Test func `a folder of a newer program is 4, a refused configuration or no folder is 3`() throws
  {
    let installation = try Installation.renewing(1)
    try edit(installation.journal.path, "PRAGMA user_version = 99")
    let newer = try check(installation)
    #expect(newer.code == 4 && newer.report?["starts"]?.boolean == false, "\(newer.result)")
    try installation.configure(with: [("no_such_key", .integer(1))])
    try edit(installation.journal.path, "PRAGMA user_version = 11")
    let refused = try check(installation)
    #expect(refused.code == 3 && refused.report?["starts"]?.boolean == false, "\(refused.result)")
    #expect(refused.result.output.contains("no_such_key"))
    #expect(try check(try Installation()).code == 3)
  }

  @Test func `rows of another fold are compared, with what it takes`() throws {
    let installation = try Installation.renewing(4)
    try installation.executeInProjection(
      "UPDATE meta SET value = CAST('of-another-fold' AS BLOB) WHERE key = 'fingerprint'")
    let (code, report, result) = try check(installation)
    #expect(code == 0 && report?["same_fold"]?.boolean == false, "\(result)")
    #expect(report?["comparison"]?["equal"]?.integer == 4, "\(result)")
    #expect((report?["bytes_needed"]?.integer ?? 0) > 0 && report?["seconds"]?.integer != nil)
    let ids = try installation.launch([
      "query", "--json", "--config", installation.config.path,
      "SELECT original_transaction_id AS id FROM entitlement_v1",
    ]).finish().lines().compactMap { $0["id"]?.string }
    try installation.swapRow(of: ids[0], for: ids[1])
    let differing = try check(installation)
    #expect(differing.code == 1, "\(differing.result)")
    let quick = try check(installation, "--no-rows")
    #expect(quick.code == 1 && quick.report?["comparison"] == nil, "\(quick.result)")
    try installation.configure(with: [
      ("limits", .object([("diskBytes", .integer(1_000_000_000_000_000))]))
    ])
    let full = try check(installation)
    #expect(full.code == 1 && full.report?["comparison"] == nil, "\(full.result)")
    #expect(full.result.output.contains("free disk space first"))
  }

  @Test func `keys that are new, gone and of another default are told apart`() throws {
    let installation = try Installation.renewing(1)
    let own = try installation.launch(["help", "configuration"]).finish().output
    let old = own.replacingOccurrences(of: "  logLevel  (text", with: "  level  (text")
      .replacingOccurrences(of: "default: 262144", with: "default: 1024")
    let keys = try installation.file("keys", [Array(old.utf8)])
    let (code, report, result) = try check(installation, "--keys", keys)
    #expect(code == 1, "\(result)")
    func list(_ kind: String) -> [String]? {
      report?["keys"]?[kind]?.elements.compactMap(\.string)
    }
    #expect(list("new") == ["logLevel"] && list("gone") == ["level"])
    #expect(list("changed") == ["limits.bodyBytes"])
    let empty = try installation.run("upgrade-check", "--keys", "/dev/null")
    #expect(empty.code == 2 && empty.errors.contains("help configuration"), "\(empty)")
  }

  @Test func `a mapping that is not yet in force is compared`() throws {
    let installation = try Installation.renewing(2)
    let names = JSONValue.object([("pro", .array([.string("pro.monthly")]))])
    try installation.configure(with: [("entitlements", names)])
    let daemon = try installation.start()
    _ = try daemon.stop()
    #expect(try check(installation).report?["mapping"] == nil)
    try installation.configure(with: [
      ("entitlements", .object([("pro", .array([.string("other")]))]))
    ])
    let changed = try check(installation)
    #expect(changed.report?["mapping"] != nil, "\(changed.result)")
    // With another fold it is compared by the rows that were built.
    try installation.executeInProjection(
      "UPDATE meta SET value = CAST('of-another-fold' AS BLOB) WHERE key = 'fingerprint'")
    let other = try check(installation)
    #expect(other.report?["same_fold"]?.boolean == false, "\(other.result)")
    #expect(
      try #require(other.report?["mapping"]).value.bytes == changed.report?["mapping"]?.value.bytes)
  }

  @Test func `a backup is no folder that this program would start on`() throws {
    let installation = try Installation.renewing(1)
    let backup = installation.folder.appending(path: "backup")
    #expect(try installation.run("backup", backup.path).code == 0)
    let (code, report, result) = try check(installation, "--data", backup.path)
    #expect(code == 3 && report?["starts"]?.boolean == false, "\(result)")
  }
}
