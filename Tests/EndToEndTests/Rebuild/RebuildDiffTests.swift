import AppStore
import Entitlements
import Foundation
import Store
import StrictJSON
import Support
import Testing

/// `rebuild --diff`: arguments, exit codes, output files.
@Suite struct RebuildDiffTests {
  @Test func `arguments that exclude each other or have bad values are refused`() throws {
    let installation = try Installation()
    let wrong: [([String], String)] = [
      (["--diff", "--apply"], "one of --diff, --apply"),
      (["--only", "1", "--apply"], "one of --apply, --only"),
      (["--at", "2026-01-01"], "--at goes with --diff"),
      (["--apply", "--output", "x.csv"], "--output goes with --diff"),
      (["--apply", "--fail-on", "any"], "--fail-on goes with --diff"),
      (["--only", "1", "--threads", "2"], "--threads goes with"),
      (["--diff", "--fail-on", "loss"], "--fail-on takes any, lost-access or gained-access"),
      (["--diff", "--at", "yesterday"], "--at takes RFC 3339 or milliseconds"),
      (["--diff", "--output", "x.txt"], "--output takes a file whose name ends in .csv or .json"),
      (["--diff", "--output"], "--output needs a value"),
      (["--diff", "--output", "--json"], "--output needs a value"),
      (["--threads", "0"], "--threads takes a whole number from 1 to 256"),
      (["--threads", "many"], "--threads takes a whole number"),
      (["--only"], "--only needs a value"),
      (["--only", "1", "--only", "2"], "--only is given twice"),
      (["now"], "unexpected argument 'now'"),
    ]
    for (arguments, complaint) in wrong {
      let finished = try installation.launch(
        ["rebuild", "--config", installation.config.path] + arguments
      ).finish()
      #expect(finished.code == 2 && finished.output.isEmpty, "\(arguments): \(finished)")
      #expect(finished.errors.contains(complaint), "\(arguments): \(finished)")
    }
    #expect(!FileManager.default.fileExists(atPath: installation.data.path))
  }

  /// As the projection of version 0.1, whose rows are not columns, and that of a version to come.
  @Test func `a projection of another layout is compared through its views, if it has them`() throws
  {
    let installation = try Installation.renewing(2)
    let folder = DataFolder(path: installation.data.path)
    let name = try #require(try ProjectionList.read(folder).live)
    let connection = try SQLiteConnection.open(folder.projection(named: name), .write)
    defer { connection.close() }
    try connection.execute("PRAGMA user_version = 99")
    try connection.checkpointTruncate()
    let compared = try installation.run("rebuild", "--diff")
    #expect(compared.output.contains("2 rows equal, 0 changed"), "\(compared)")
    try connection.execute("PRAGMA user_version = 1; DROP VIEW entitlement_v1")
    try connection.checkpointTruncate()
    let finished = try installation.run("rebuild", "--diff")
    #expect(finished.code == 1, "\(finished)")
    #expect(finished.errors.hasSuffix("to replace it: subledger rebuild --apply\n"), "\(finished)")
    #expect(try installation.run("rebuild", "--apply").code == 0)
    #expect(try installation.run("rebuild", "--diff").code == 0)
  }

  @Test func `equal rows are no finding`() throws {
    let installation = try Installation.renewing(5)
    let text = try installation.run("rebuild", "--diff")
    #expect(text.code == 0, "\(text)")
    #expect(text.output.contains("5 rows equal, 0 changed, 0 added, 0 gone"))
    for what in ["any", "lost-access", "gained-access"] {
      let output = installation.folder.appending(path: "\(what).csv")
      let finished = try installation.run(
        "rebuild", "--diff", "--json", "--fail-on", what, "--output", output.path)
      #expect(finished.code == 0, "\(finished)")
      #expect(try finished.lines().last?["equal"]?.integer == 5)
      #expect(try CSVText(String(contentsOf: output, encoding: .utf8)).rows.isEmpty)
    }
    let empty = installation.folder.appending(path: "none.json")
    #expect(try installation.run("rebuild", "--diff", "--output", empty.path).code == 0)
    #expect(
      try JSONDocument(parsing: Array(Data(contentsOf: empty))).root["items"]?.elements.isEmpty
        == true)
    // Nothing was switched, and the built projection is there for --apply.
    #expect(try installation.roles() == ["live", "built"])
  }

  /// A stored state does not tell where in the journal its purchases are.
  @Test func `purchases that differ are a difference of their row`() throws {
    let installation = try Installation.renewing(2)
    let rows = try ProjectionReader.open(installation.dataFolder)
    let stored = try #require(try rows.streams(withOriginalTransactionId: "70000").first)
    let state = try #require(
      StreamState(decoding: stored.state, lastSeq: stored.row.lastEvent?.seq))
    try installation.tamper { projection in
      try projection.replace(
        projection.packer.pack(FoldedStream(stored.key, state)),
        over: try projection.stream(stored.key)?.reference)
    }
    let output = installation.folder.appending(path: "diff.csv")
    let finished = try installation.run(
      "rebuild", "--diff", "--fail-on", "any", "--output", output.path)
    #expect(finished.code == 1, "\(finished)")
    let found = try CSVText(String(contentsOf: output, encoding: .utf8)).rows
    #expect(found.count == 1 && found.first?["fields"] == "", "\(found)")
    #expect(found.first?["when"] == "past", "\(found)")
    #expect(
      found.first?["past_fields"] == "transactions.first_seq transactions.last_seq", "\(found)")
    #expect(
      finished.output.contains("0 differ now, 1 in the past alone, 0 later alone"), "\(finished)")
    #expect(try installation.run("verify").code == 1)
  }

  /// A live projection that differs from the journal: two rows are swapped, one is missing, one has
  /// no stream. The product ids contain every character that CSV must quote.
  private func differing() throws -> Installation {
    let installation = try Installation.renewing(6, product: "pro, \"monthly\"\nplan")
    let ended = Sample.notification(900, otid: "70000", type: "REFUND")
      .setting("data.transaction.transactionId", .string("7000011"))
      .setting("data.transaction.revocationDate", .integer(Sample.start + 2 * Sample.day))
    let file = try installation.file("refund", [try installation.sign(ended)])
    #expect(try installation.run("ingest", file).code == 0)
    // The live rows of 70000 (refunded) and 70001 (active) are exchanged.
    let rows = try ProjectionReader.open(installation.dataFolder)
    let active = try #require(try rows.streams(withOriginalTransactionId: "70001").first)
    let state = try #require(
      StreamState(decoding: active.state, lastSeq: active.row.lastEvent?.seq))
    try installation.swapRow(of: "70001", for: "70000")
    try installation.tamper { projection in
      for id in ["70000", "99999"] {
        let key = StreamKey(
          environment: active.key.environment, bundleId: active.key.bundleId,
          originalTransactionId: id)
        try projection.replace(
          projection.packer.pack(FoldedStream(key, state)),
          over: try projection.stream(key)?.reference)
      }
    }
    try installation.executeInProjection(
      "DELETE FROM entitlement WHERE original_transaction_id = '70002'")
    return installation
  }

  @Test func `every difference is in the CSV and the JSON file`() throws {
    let installation = try differing()
    let at = Sample.start + 3 * Sample.day
    let csv = installation.folder.appending(path: "d.csv")
    let json = installation.folder.appending(path: "d.json")
    let finished = try installation.run(
      "rebuild", "--diff", "--at", "\(at)", "--json", "--output", csv.path)
    #expect(finished.code == 1, "\(finished)")
    let summary = try #require(try finished.lines().last)
    let counts = [
      "equal", "changed", "changed_now", "added", "gone", "lose_access", "gain_access",
    ]
    #expect(counts.map { summary[$0]?.integer } == [3, 2, 2, 1, 1, 2, 2])
    #expect(summary["at"]?.integer == at)

    let table = try CSVText(String(contentsOf: csv, encoding: .utf8))
    #expect(
      table.columns == [
        "environment", "bundle_id", "original_transaction_id", "change", "access",
        "status_before", "status_after", "product_before", "product_after", "expires_before",
        "expires_after", "fields", "when", "past_fields", "later_fields",
      ])
    let facts = table.rows.map { row in
      ["original_transaction_id", "change", "access", "status_before", "status_after"].map {
        row[$0] ?? ""
      }.joined(separator: " ")
    }
    #expect(
      facts == [
        "70000 changed lost active revoked", "70001 changed gained revoked active",
        "70002 added gained none active", "99999 gone lost active none",
      ])
    let product = "pro, \"monthly\"\nplan"
    #expect(table.rows[0]["product_before"] == product)
    #expect(table.rows[2]["product_before"] == "" && table.rows[2]["product_after"] == product)
    #expect(table.rows[0]["environment"] == "Production")
    #expect(table.rows[0]["bundle_id"] == "com.example.app")
    #expect(table.rows[0]["fields"]?.split(separator: " ").contains("status") == true)

    let again = try installation.run(
      "rebuild", "--diff", "--at", "2026-01-04T00:00:00Z", "--output", json.path)
    #expect(again.code == 1)
    #expect(again.output.contains("2 lose access, 2 gain it"), "\(again)")
    #expect(again.output.contains("70000") && again.output.contains("active → revoked"))
    let items = try #require(
      try JSONDocument(parsing: Array(Data(contentsOf: json))).root["items"]?.elements)
    #expect(items.map { $0["change"]?.string } == ["changed", "changed", "added", "gone"])
    #expect(items[2]["before"]?.kind == .null && items[3]["after"]?.kind == .null)
    #expect(items[0]["before"]?["product_id"]?.string == product)
    #expect(items[0]["after"]?["revoked_at"]?.integer == Sample.start + 2 * Sample.day)
    let row = try installation.run("entitlement", "70000", "--json")
    #expect(try row.lines().first?["status"]?.string != "revoked", "a comparison changes nothing")
  }

  @Test func `access is compared at the time given by --at`() throws {
    let installation = try differing()
    func code(_ at: String, _ what: String) throws -> Int32 {
      try installation.run("rebuild", "--diff", "--at", at, "--fail-on", what).code
    }
    for what in ["any", "lost-access", "gained-access"] {
      #expect(try code("2026-01-04T00:00:00Z", what) == 1, "\(what)")
    }
    // Every period has ended by then: no customer has access in either projection.
    #expect(try code("2030-01-01T00:00:00Z", "any") == 1)
    #expect(try code("2030-01-01T00:00:00Z", "lost-access") == 0)
    #expect(try code("2030-01-01T00:00:00Z", "gained-access") == 0)
  }

  @Test func `nothing differs after the new rows are applied`() throws {
    let installation = try differing()
    #expect(try installation.run("verify").code == 1)
    #expect(try installation.run("rebuild", "--diff").code == 1)
    #expect(try installation.run("rebuild", "--apply").code == 0)
    let equal = try installation.run("rebuild", "--diff", "--json")
    #expect(equal.code == 0, "\(equal)")
    #expect(try equal.lines().last?["equal"]?.integer == 6)
    #expect(try installation.run("verify").code == 0)
  }

  @Test func `an output file that cannot be written is reported`() throws {
    let installation = try Installation.renewing(2)
    let folder = installation.folder.path
    for path in [folder + "/absent/d.csv", "/proc/d.json"] {
      let finished = try installation.run("rebuild", "--diff", "--output", path)
      #expect(finished.code == 3, "\(finished)")
      #expect(finished.errors.contains(path), "\(finished)")
    }
    try FileManager.default.createDirectory(
      atPath: folder + "/folder.csv", withIntermediateDirectories: true)
    let refused = try installation.run("rebuild", "--diff", "--output", folder + "/folder.csv")
    #expect(refused.code == 3 && refused.errors.contains("folder.csv"), "\(refused)")
    let left = try FileManager.default.contentsOfDirectory(atPath: folder)
    #expect(left.filter { $0.hasSuffix(".partial") }.isEmpty)
  }

  @Test func `a comparison without a live projection is refused with the next step`() throws {
    let installation = try Installation.renewing(2)
    try FileManager.default.removeItem(atPath: installation.dataFolder.projectionList)
    let finished = try installation.run("rebuild", "--diff")
    #expect(finished.code == 1, "\(finished)")
    #expect(finished.errors.contains("subledger rebuild --apply"))
  }
}
