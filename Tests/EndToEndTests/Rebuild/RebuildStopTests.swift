import Foundation
import JournalStore
import Platform
import SignedData
import StrictJSON
import Support
import Testing

/// Rebuilds that end early, and two at once: what is live stays what it is.
@Suite struct RebuildStopTests {
  private static let customers = 2000

  /// Customers of one notification each, so that there are several pieces to build. All have the
  /// same body: no proof is asked for here, and the fold takes a stream as the journal has it.
  private func filled() throws -> Installation {
    let installation = try Installation()
    let post = try JSONDocument(parsing: try installation.sign(Sample.notification(1))).root
    let body = Array(try #require(post["signedPayload"]?.string).utf8)
    let folder = installation.dataFolder
    try folder.create()
    let lock = try folder.lock()
    let journal = try Journal.open(folder, lock: lock, now: Sample.start)
    let hash = SHA256.hash(body)
    for piece in 0..<Self.customers / 500 {
      _ = try journal.append(
        (piece * 500..<piece * 500 + 500).map { number in
          .event(
            NewEvent(
              notificationUUID: Sample.uuid(number), source: "v2", environment: "Production",
              bundleId: "com.example.app", notificationType: "DID_RENEW", subtype: nil,
              originalTransactionId: "\(70_000 + number)", signedDate: Sample.start,
              receivedAt: Sample.start, body: .bytes(body), bodySHA256: hash))
        })
    }
    try journal.close()
    withExtendedLifetime(lock) {}
    return installation
  }

  /// With live rows.
  private func live() throws -> (Installation, digest: String) {
    let installation = try filled()
    let applied = try installation.run("rebuild", "--apply", "--json")
    #expect(applied.code == 0, "\(applied)")
    return (installation, try #require(try installation.digest()))
  }

  /// Starts one, and waits until it has a file open that it builds in: seconds before its end.
  private func begin(_ installation: Installation, _ words: String...) throws -> RunningCommand {
    let running = try installation.launch(
      ["rebuild", "--threads", "1", "--config", installation.config.path] + words)
    let wal = installation.data.appending(path: "entitlements-1.sqlite.building-wal").path
    try running.wait(20, "the first rows") {
      guard running.isRunning else { throw Trouble("it ended: \(try running.finish())") }
      return FileManager.default.fileExists(atPath: wal)
    }
    return running
  }

  private func expectBuilding(_ installation: Installation, _ digest: String) throws {
    let all = try installation.projections()
    #expect(all.map { $0["role"]?.string } == ["live", "building"])
    #expect(all.first?["digest"]?.string == digest)
    let rows = try #require(all.last?["rows"]?.integer)
    #expect(rows > 0 && rows < Self.customers, "\(rows) rows")
  }

  @Test func anInterruptedOneIsGoneOnWith() throws {
    let (installation, digest) = try live()
    let first = try begin(installation)
    first.signal(SIGINT)
    let finished = try first.finish(within: 20)
    #expect(finished.code == 3, "\(finished)")
    #expect(finished.errors.contains("what is live is as it was"))
    try expectBuilding(installation, digest)
    // What is in it stays in it: a wrong row there is found in what is built by the last one.
    let path = installation.dataFolder.path + "/entitlements-1.sqlite.building"
    let connection = try SQLiteConnection.open(path, .write)
    try connection.execute("UPDATE entitlement SET last_seq = 4711 WHERE id = 1")
    connection.close()
    let second = try begin(installation)
    second.signal(SIGKILL)
    try second.finish(within: 20)
    try expectBuilding(installation, digest)
    let next = try installation.run("rebuild", "--json")
    #expect(next.code == 0, "\(next)")
    #expect(try next.lines().last?["rows"]?.integer == Int64(Self.customers))
    #expect(try installation.roles() == ["live", "built"])
    let rows = try ProjectionReader.open(installation.dataFolder, path: path)
    #expect(try rows.rows(after: nil, limit: 1).map(\.lastSeq) == [4711], "it began anew")
    // What is whole is not gone on with: this one begins anew, and is right.
    #expect(try installation.run("rebuild", "--json").lines().last?["digest"]?.string == digest)
  }

  @Test func anApplyThatIsInterruptedSwitchesNothing() throws {
    let (installation, digest) = try live()
    let daemon = try installation.start()
    let running = try begin(installation, "--apply")
    running.signal(SIGINT)
    #expect(try running.finish(within: 20).code == 3)
    let version = daemon.client().get("/version", token: nil)?.json
    #expect(version?["digest"]?.string == digest)
    #expect(try installation.roles() == ["live", "building"])
    #expect(try installation.run("rebuild", "--apply").code == 0)
    #expect(try installation.roles() == ["live", "kept"])
    #expect(try daemon.stop().code == 0)
  }

  @Test func oneAtATime() throws {
    let (installation, digest) = try live()
    let first = try begin(installation)
    first.signal(SIGSTOP)
    for words in [[], ["--diff"], ["--apply"], ["--prune"]] {
      let second = try installation.launch(
        ["rebuild", "--config", installation.config.path] + words
      ).finish()
      #expect(second.code == 3, "\(words): \(second)")
      #expect(second.errors.contains("rows are being built"), "\(words): \(second)")
      // Reading is no rebuild.
      #expect(try installation.digest() == digest)
    }
    first.signal(SIGCONT)
    #expect(try first.finish().code == 0)
    #expect(try installation.roles() == ["live", "built"])
    #expect(
      try installation.run("rebuild", "--apply", "--json").lines().last?["digest"]?.string == digest
    )
  }
}
