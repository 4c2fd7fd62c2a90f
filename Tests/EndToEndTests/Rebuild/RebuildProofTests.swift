import Foundation
import Ledger
import Store
import StrictJSON
import Support
import Testing

/// The fold is a function of the events alone (promises 6 and 7).
@Suite struct RebuildProofTests {
  /// The notifications of 40 simulated customers, one a line.
  private func fleet(_ installation: Installation) throws -> [[UInt8]] {
    let (authority, file) = (installation.folder.path + "/ca", installation.folder.path + "/f")
    let signed = try installation.launch([
      "simulate", "run", "--fleet", "40", "--days", "400", "--seed", "11", "--end",
      "2026-01-01T00:00:00Z", "--output", file,
      "--authority", authority,
    ]).finish()
    guard signed.code == 0 else { throw TestFailure("simulate: \(signed)") }
    try trust(authority, installation)
    return try Array(Data(contentsOf: URL(filePath: file))).split(separator: 0x0A).map(Array.init)
  }

  private func trust(_ authority: String, _ installation: Installation) throws {
    try installation.configure(with: [
      ("trustRoots", .array([.string(authority + "/root.der")]))
    ])
  }

  @Test func `the digest does not depend on threads, time zone, locale or order`() throws {
    let one = try Installation()
    let lines = try fleet(one)
    #expect(try one.run("ingest", try one.file("all", lines)).code == 0)
    let digest = try #require(try one.verify().report["digest"]?.string)
    let daemon = try one.start()
    let version = try #require(daemon.client().get("/version")?.json)
    #expect(version["digest"]?.string == digest)
    #expect(try daemon.stop().code == 0)
    let environments: [[String: String]] = [
      [:], ["TZ": "Pacific/Kiritimati", "LC_ALL": "tr_TR.UTF-8", "LANG": "ar_EG.UTF-8"],
    ]
    for environment in environments {
      one.environment = environment
      for threads in ["1", "2", "4", "33"] {
        let built = try one.run("rebuild", "--threads", threads, "--json")
        #expect(built.code == 0, "\(built)")
        #expect(try built.lines().last?["digest"]?.string == digest, "\(environment) \(threads)")
        #expect(try one.roles() == ["live", "built"])
        #expect(try one.digest(of: Rebuild.buildingPath(one.dataFolder)) == digest)
      }
      #expect(try one.verify().report["digest"]?.string == digest)
      #expect(try one.run("rebuild", "--diff").code == 0)
    }

    let two = try Installation()
    try trust(one.folder.path + "/ca", two)
    two.environment = ["TZ": "Pacific/Kiritimati", "LC_ALL": "tr_TR.UTF-8"]
    // Those with an odd index backwards, then the others, then all of them again.
    let indices =
      lines.indices.filter { $0 % 2 == 1 }.reversed() + lines.indices.filter { $0 % 2 == 0 }
    let other = indices.map { lines[$0] } + lines
    #expect(try two.run("ingest", try two.file("all", other)).code == 0)
    #expect(try two.verify().report["digest"]?.string == digest)
    let built = try two.run("rebuild", "--apply", "--threads", "3", "--json")
    #expect(try built.lines().last?["digest"]?.string == digest)
    #expect(try two.verify().code == 0)
    // One event less gives another digest.
    let three = try Installation()
    try trust(one.folder.path + "/ca", three)
    #expect(try three.run("ingest", try three.file("all", Array(lines.dropLast()))).code == 0)
    #expect(try three.verify().report["digest"]?.string != digest)
  }
}
