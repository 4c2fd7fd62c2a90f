import Foundation
import StrictJSON
import Support
import Testing

/// Simulated customers: in whatever way their notifications arrive, the rows are the same (promises
/// 4, 6 and 7).
@Suite struct FleetTests {
  /// Writes signed notifications of simulated customers to a file, and makes the installation trust
  /// the authority that signed them.
  private func fleet(_ customers: Int, _ installation: Installation) throws -> String {
    let (authority, file) = (installation.folder.path + "/ca", installation.folder.path + "/f")
    let made = try installation.launch(["simulate", "ca", authority]).finish()
    #expect(made.code == 0, "\(made)")
    let signed = try installation.launch([
      "simulate", "run", "--fleet", "\(customers)", "--days", "400", "--seed", "7", "--end",
      "2026-01-01T00:00:00Z", "--shuffle",
      "--duplicate", "0.1", "--output", file, "--authority", authority,
    ]).finish()
    #expect(signed.code == 0, "\(signed)")
    try trust(authority, installation)
    return file
  }

  private func trust(_ authority: String, _ installation: Installation) throws {
    try installation.configure(with: [
      ("trustRoots", .array([.string(authority + "/root.der")]))
    ])
  }

  private func lines(_ file: String) throws -> [[UInt8]] {
    try Array(Data(contentsOf: URL(filePath: file))).split(separator: 0x0A).map { Array($0) }
  }

  private func ingest(_ file: String, _ installation: Installation) throws -> JSONElement {
    let finished = try installation.run("ingest", file, "--json")
    #expect(finished.code == 0, "\(finished)")
    return try #require(try finished.lines().last)
  }

  @Test func `two orders of arrival give equal rows`() throws {
    let one = try Installation()
    let file = try fleet(30, one)
    let two = try Installation()
    try trust(one.folder.path + "/ca", two)
    let lines = try lines(file)
    let reversed = try two.file("reversed", lines.reversed())
    let first = try ingest(file, one)
    let second = try ingest(reversed, two)
    let accepted = try #require(first["accepted"]?.integer)
    #expect(accepted > 100 && accepted == second["accepted"]?.integer)
    #expect(first["duplicates"]?.integer == Int64(lines.count) - accepted)
    // The same notifications again, in another order: no new event.
    let again = try ingest(reversed, one)
    #expect(again["accepted"]?.integer == 0)
    #expect(again["duplicates"]?.integer == Int64(lines.count))
    let (code, report) = try one.verify()
    let (otherCode, otherReport) = try two.verify()
    #expect(code == 0 && otherCode == 0)
    #expect(report["events"]?.integer == accepted)
    let digest = try #require(report["digest"]?.string)
    #expect(digest.count == 64 && digest == otherReport["digest"]?.string)
    let rebuilt = try two.run("rebuild", "--apply", "--json")
    #expect(try rebuilt.lines().last?["digest"]?.string == digest)
  }

  @Test func `ingest hands a file over to a running daemon`() throws {
    let one = try Installation()
    let file = try fleet(10, one)
    let two = try Installation()
    try trust(one.folder.path + "/ca", two)
    let alone = try ingest(file, one)
    let daemon = try two.start()
    let handedOver = try ingest(file, two)
    #expect(alone.value.text == handedOver.value.text)
    let (code, report) = try two.verify()
    #expect(code == 0)
    #expect(report["digest"]?.string == (try one.verify().report["digest"]?.string))
    // The daemon shows what the command handed over.
    let event = try #require(
      try two.events().first { $0["original_transaction_id"]?.string != nil })
    let id = try #require(event["original_transaction_id"]?.string)
    let environment = try #require(event["environment"]?.string)
    let answer = daemon.client().get("/v1/entitlements/\(id)?environment=\(environment)")
    #expect(answer?.status == 200)
    #expect(try daemon.stop().code == 0)
  }

  @Test func `simulated lifecycles are delivered to a running daemon`() throws {
    let installation = try Installation()
    let authority = installation.folder.path + "/ca"
    #expect(try installation.launch(["simulate", "ca", authority]).finish().code == 0)
    try trust(authority, installation)
    let daemon = try installation.start()
    let played = try installation.launch([
      "simulate", "run", "--lifecycle", "all", "--url",
      "http://127.0.0.1:\(daemon.port)/v1/notifications", "--authority", authority, "--duplicate",
      "0.2", "--json",
    ]).finish()
    #expect(played.code == 0, "\(played)")
    #expect(try installation.events().count > 40)
    #expect(try daemon.stop().code == 0)
    #expect(try installation.verify().code == 0)
  }

  @Test func `rows come back identical after their file is deleted`() throws {
    let installation = try Installation()
    _ = try ingest(try fleet(10, installation), installation)
    let before = try installation.verify()
    #expect(before.code == 0)
    let id = try #require(
      try installation.events("--limit", "1", "--type", "SUBSCRIBED").first?[
        "original_transaction_id"]?.string)
    let row = try installation.run("entitlement", id, "--json", "--as-of", "2026-01-01").output
    for name in try installation.files().keys where name.hasPrefix("entitlements-") {
      try FileManager.default.removeItem(at: installation.data.appending(path: name))
    }
    let daemon = try installation.start()
    let beside = try installation.verify()
    #expect(beside.code == 0)
    #expect(beside.report["digest"]?.string == before.report["digest"]?.string)
    #expect(beside.report["rows"]?.integer == before.report["rows"]?.integer)
    #expect(try daemon.stop().code == 0)
    #expect(
      try installation.run("entitlement", id, "--json", "--as-of", "2026-01-01").output == row)
    #expect(try installation.verify().code == 0)
  }
}
