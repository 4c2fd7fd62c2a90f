import AppStore
import Foundation
import Ledger
import Platform
import SignedData
import Store
import StrictJSON
import Support
import Testing

/// Rebuilds that are interrupted, and two at once: the live projection never changes.
@Suite struct RebuildStopTests {
  private static let customers = 2000

  /// Customers with one notification each, so that a build takes several batches. All have the same
  /// body: signatures are not checked here, and the fold reads the stream's id from the journal.
  private func filled() throws -> Installation {
    let installation = try Installation()
    let post = try JSONDocument(parsing: try installation.sign(Sample.notification(1))).root
    let body = Array(try #require(post["signedPayload"]?.string).utf8)
    let folder = installation.dataFolder
    try folder.create()
    let lock = try folder.lock()
    let journal = try Journal.open(folder, lock: lock, now: Sample.start)
    let hash = SHA256.hash(body)
    for batch in 0..<Self.customers / 500 {
      _ = try journal.append(
        try (batch * 500..<batch * 500 + 500).map { number in
          .event(
            NewEvent(
              envelope: EventEnvelope(
                notificationUUID: try #require(NotificationUUID(Sample.uuid(number))), source: .v2,
                environment: .production, bundleId: "com.example.app",
                notificationType: "DID_RENEW", subtype: nil,
                originalTransactionId: "\(70_000 + number)", signedDate: Sample.start,
                receivedAt: Sample.start), body: .bytes(body), bodySHA256: hash))
        })
    }
    try journal.close()
    withExtendedLifetime(lock) {}
    return installation
  }

  /// As `filled`, with a live projection.
  private func live() throws -> (Installation, digest: String) {
    let installation = try filled()
    let applied = try installation.run("rebuild", "--apply", "--json")
    #expect(applied.code == 0, "\(applied)")
    return (installation, try #require(try installation.digest()))
  }

  /// Starts a rebuild and waits until it writes its file, which is seconds before it ends.
  private func begin(_ installation: Installation, _ arguments: String...) throws -> RunningCommand
  {
    let running = try installation.launch(
      ["rebuild", "--threads", "1", "--config", installation.config.path] + arguments)
    let wal = installation.data.appending(path: "entitlements-4.sqlite.building-wal").path
    try running.wait(60, "the first rows") {
      guard running.isRunning else { throw TestFailure("it ended: \(try running.finish())") }
      return FileManager.default.fileExists(atPath: wal)
    }
    return running
  }

  private func expectBuilding(_ installation: Installation, _ digest: String) throws {
    #expect(try installation.roles() == ["live", "building"])
    #expect(try installation.digest() == digest)
    let folder = installation.dataFolder
    let rows = try ProjectionReader.open(folder, path: Rebuild.buildingPath(folder)).count()
    #expect(rows > 0 && rows < Self.customers, "\(rows) rows")
  }

  @Test func `an interrupted rebuild is resumed by the next one`() throws {
    let (installation, digest) = try live()
    let first = try begin(installation)
    first.signal(SIGINT)
    let finished = try first.finish(within: 20)
    #expect(finished.code == 130, "\(finished)")
    #expect(finished.errors.contains("the live projection is unchanged"))
    try expectBuilding(installation, digest)
    // Rows that were built are not built again: a wrong one is still there at the end.
    let path = installation.dataFolder.path + "/entitlements-4.sqlite.building"
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
    let built = try SQLiteConnection.open(path, .read)
    let wrong = try built.statement("SELECT last_seq FROM entitlement WHERE id = 1")
    #expect(try wrong.all { $0.int(0) } == [4711], "it started again")
    built.close()
    // A complete build is not resumed: this one starts again, and is right.
    #expect(try installation.run("rebuild", "--json").lines().last?["digest"]?.string == digest)
  }

  @Test func `an interrupted apply does not switch the live projection`() throws {
    let (installation, digest) = try live()
    let daemon = try installation.start()
    let running = try begin(installation, "--apply")
    running.signal(SIGINT)
    #expect(try running.finish(within: 20).code == 130)
    let version = daemon.client().get("/version")?.json
    #expect(version?["digest"]?.string == digest)
    #expect(try installation.roles() == ["live", "building"])
    #expect(try installation.run("rebuild", "--apply").code == 0)
    #expect(try installation.roles() == ["live", "kept"])
    #expect(try daemon.stop().code == 0)
  }

  @Test func `a second rebuild is refused while one is running`() throws {
    let (installation, digest) = try live()
    let first = try begin(installation)
    first.signal(SIGSTOP)
    for arguments in [[], ["--diff"], ["--apply"]] {
      let second = try installation.launch(
        ["rebuild", "--config", installation.config.path] + arguments
      ).finish()
      #expect(second.code == 3, "\(arguments): \(second)")
      #expect(second.errors.contains("building a projection here"), "\(arguments): \(second)")
      // Commands that only read are not refused.
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
