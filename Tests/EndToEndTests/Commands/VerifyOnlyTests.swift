import Foundation
import Store
import StrictJSON
import Support
import Testing

/// `verify --only` checks one customer's events and rows, and `verify --chain` only the chain.
@Suite struct VerifyOnlyTests {
  /// Ten events: the even ones of 700, the odd ones of 701.
  private func filled() throws -> Installation {
    let installation = try Installation()
    try installation.fill(1...10)
    return installation
  }

  private func verify(_ installation: Installation, _ id: String, _ arguments: String...) throws
    -> CommandResult
  {
    try verify(installation, [id] + arguments)
  }

  private func verify(_ installation: Installation, _ arguments: [String]) throws -> CommandResult {
    let before = try installation.bytes()
    let finished = try installation.launch(
      ["verify", "--config", installation.config.path, "--only"] + arguments
    ).finish()
    #expect(try installation.bytes() == before, "verify changes nothing")
    return finished
  }

  @Test func `one of two customers is verified`() throws {
    let installation = try filled()
    let verified = try verify(installation, "701")
    #expect(verified.code == 0, "\(verified)")
    #expect(verified.output.contains("5 events and 1 row of 701"))
    #expect(verified.output.contains("the rest of the chain was not checked"))
    #expect(verified.errors.contains("verify: 5 events in"))
    let report = try #require(try verify(installation, "701", "--json").lines().last)
    #expect(report["only"]?.string == "701" && report["chain_walked"]?.boolean == false)
    #expect(report["events"]?.integer == 5 && report["finding_count"]?.integer == 0)
    #expect(report["anchors"]?.kind == .null && report["digest"]?.kind == .null)
  }

  @Test func `the chain option checks only seq, hash and body`() throws {
    let installation = try filled()
    let good = try installation.run("verify", "--chain")
    #expect(good.code == 0 && good.output.contains("the chain holds"), "\(good)")
    try installation.tamper("UPDATE event SET signed_date_ms = signed_date_ms + 1 WHERE seq = 3")
    let blind = try installation.run("verify", "--chain")
    #expect(blind.code == 0 && blind.output.contains("columns and rows were not checked"))
    #expect(try installation.run("verify").code == 1)
    try installation.tamper("UPDATE event SET body = x'00' WHERE seq = 5")
    let found = try installation.run("verify", "--chain", "--json")
    let report = try #require(try found.lines().last)
    #expect(found.code == 1 && report["finding_count"]?.integer == 1, "\(found)")
    #expect(report["findings"]?.elements.first?["seq"]?.integer == 5)
    #expect(report["chain_alone"]?.boolean == true && report["rows_compared"]?.boolean == false)
    #expect(try installation.run("verify", "--chain", "--only", "701").code == 2)
  }

  @Test func `environment and app narrow the check`() throws {
    let installation = try Installation()
    try installation.configure(apps: [Installation.app(), Installation.app("com.example.two")])
    let apps = [
      ("com.example.app", "Production"), ("com.example.app", "Sandbox"),
      ("com.example.two", "Production"),
    ]
    let lines = try apps.enumerated().map { number, app in
      try installation.sign(
        Sample.notification(number + 1, bundleId: app.0, environment: app.1))
    }
    #expect(try installation.run("ingest", try installation.file("all", lines)).code == 0)
    func events(_ arguments: String...) throws -> String {
      try installation.launch(
        ["verify", "--only", "7000", "--config", installation.config.path] + arguments
      ).finish().firstLine
    }
    #expect(try events() == "3 events and 3 rows of 7000")
    #expect(try events("--environment", "Production") == "2 events and 2 rows of 7000")
    #expect(try events("--environment", "Sandbox") == "1 event and 1 row of 7000")
    #expect(try events("--bundle-id", "com.example.two") == "1 event and 1 row of 7000")
  }

  @Test func `a changed event of another customer is not a finding`() throws {
    let installation = try filled()
    try installation.tamper("UPDATE event SET body = zeroblob(length(body)) WHERE seq = 6")
    #expect(try verify(installation, "701").code == 0)
    let verified = try verify(installation, "700")
    #expect(verified.code == 1 && verified.firstLine.contains("seq 6"), "\(verified)")
    #expect(try installation.run("verify").code == 1)
  }

  @Test(arguments: [
    "UPDATE entitlement SET state = x'00' WHERE original_transaction_id = '701'",
    "DELETE FROM entitlement WHERE original_transaction_id = '701'",
  ])
  func `a changed or missing row breaks promise 7`(sql: String) throws {
    let installation = try filled()
    let name = try #require(
      try installation.files().keys.first { $0.hasPrefix("entitlements-") && $0.hasSuffix("e") })
    let connection = try SQLiteConnection.open(installation.data.path + "/" + name, .write)
    try connection.execute(sql)
    try connection.checkpointTruncate()
    connection.close()
    #expect(try verify(installation, "700").code == 0)
    let verified = try verify(installation, "701")
    #expect(verified.code == 1 && verified.firstLine.hasPrefix("promise 7 broken"), "\(verified)")
  }

  @Test func `a hundred events are verified beside the daemon`() throws {
    let installation = try Installation()
    try installation.fill(1...100, otids: 1)
    let daemon = try installation.start()
    // The daemon anchors what was imported, which changes files too.
    let anchors = installation.data.appending(path: "anchors.ndjson").path
    try daemon.command.wait(60, "the first anchor") {
      let attributes = try? FileManager.default.attributesOfItem(atPath: anchors)
      return attributes?[.size] as? Int ?? 0 > 0
    }
    #expect(try verify(installation, "700").firstLine == "100 events and 1 row of 700")
    let body = try installation.sign(Sample.notification(101, otid: "700"))
    #expect(daemon.client().post(body)?.status == 200)
    #expect(try installation.run("verify", "--only", "700").firstLine.hasPrefix("101 events"))
    try daemon.stop()
  }
}
