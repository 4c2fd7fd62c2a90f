import Foundation
import Store
import StrictJSON
import Support
import Testing

/// A projection that is missing or not of this journal is detected at the start, put aside and
/// built again (promise 7). It is never trusted over the journal.
@Suite struct ProjectionRecoveryTests {
  /// Starts a daemon, which must build the projection with this digest. One customer is read
  /// meanwhile as well.
  private func expectRecovery(
    _ installation: Installation, digest: String?, events: Int64 = 2, isAside: Bool = true,
    _ location: SourceLocation = #_sourceLocation
  ) throws {
    let daemon = try installation.startWithoutProjection()
    let client = daemon.client()
    try daemon.command.wait(60, "the projection") {
      let row = client.get("/v1/entitlements/70001")
      #expect(row?.status == 200, sourceLocation: location)
      #expect(row?.json?["event_count"]?.integer == events, sourceLocation: location)
      let state = client.get("/readyz", token: nil)?.json?["projection"]?.string
      guard state == "following", try self.isAside(installation) || !isAside else { return false }
      return client.get("/version")?.json?["digest"]?.string == digest
    }
    #expect(try daemon.stop().code == 0, sourceLocation: location)
    let verified = try installation.run("verify")
    #expect(verified.code == 0, "\(verified)", sourceLocation: location)
    #expect(try installation.digest() == digest, sourceLocation: location)
    #expect(try self.isAside(installation) == isAside, sourceLocation: location)
  }

  private func isAside(_ installation: Installation) throws -> Bool {
    try FileManager.default.contentsOfDirectory(atPath: installation.data.path)
      .contains { $0.hasSuffix(".aside") }
  }

  /// Without a daemon such a projection is not put aside, and must not be read either: the journal
  /// answers.
  private func expectJournalsAnswer(
    _ installation: Installation, events: Int64, _ location: SourceLocation = #_sourceLocation
  ) throws {
    let atRest = try installation.run("entitlement", "70001", "--json")
    #expect(atRest.code == 0, "\(atRest)", sourceLocation: location)
    let row = try atRest.lines().first
    #expect(row?["event_count"]?.integer == events, sourceLocation: location)
  }

  private func live(_ installation: Installation) throws -> URL {
    let name = try #require(try ProjectionList.read(installation.dataFolder).live)
    return installation.data.appending(path: name)
  }

  @Test func `a projection ahead of the journal is built again`() throws {
    let installation = try Installation.renewing(3)
    let digest = try #require(try installation.digest())
    let older = try Data(contentsOf: installation.journal)
    let row = try installation.run("entitlement", "70001", "--json").lines().first
    let file = try installation.file(
      "more", [try installation.sign(Sample.notification(50, otid: "70001"))])
    #expect(try installation.run("ingest", file).code == 0)
    #expect(try installation.digest() != digest)
    // An older copy of the journal is restored.
    try older.write(to: installation.journal)
    let verified = try installation.run("verify")
    #expect(verified.code == 1 && verified.output.contains("the journal's end is gone"))
    // Rows with more events than the journal are not believed, also without a daemon.
    try expectJournalsAnswer(installation, events: 2)
    try expectRecovery(installation, digest: digest)
    let again = try installation.run("entitlement", "70001", "--json").lines().first
    #expect(again?["event_count"]?.integer == row?["event_count"]?.integer)
  }

  /// The journal was restored and continued: the projection is as long, but of another history.
  @Test func `a projection of another history is built again`() throws {
    let installation = try Installation.renewing(3)
    let older = try Data(contentsOf: installation.journal)
    let rows = try installation.files().filter { $0.key.hasPrefix("entitlements-") }
    #expect(rows.count == 1)
    func ingest(_ number: Int) throws {
      let body = try installation.sign(Sample.notification(number, otid: "70001"))
      let file = try installation.file("more\(number)", [body])
      #expect(try installation.run("ingest", file).code == 0)
    }
    try ingest(50)
    let ahead = try Data(contentsOf: live(installation))
    try older.write(to: installation.journal)
    for (name, bytes) in rows { try bytes.write(to: installation.data.appending(path: name)) }
    try ingest(51)
    let digest = try installation.digest()
    try ahead.write(to: live(installation))
    #expect(try installation.digest() != digest)
    try expectJournalsAnswer(installation, events: 3)
    try expectRecovery(installation, digest: digest, events: 3)
  }

  @Test func `a projection of another journal is built again`() throws {
    let installation = try Installation.renewing(3)
    let other = try Installation.renewing(5)
    let digest = try installation.digest()
    try Data(contentsOf: live(other)).write(to: live(installation))
    let verified = try installation.run("verify")
    #expect(verified.code == 1 && verified.output.contains("of another journal"), "\(verified)")
    try expectJournalsAnswer(installation, events: 2)
    try expectRecovery(installation, digest: digest)
  }

  @Test(arguments: ["header", "middle", "all", "half", "nothing"])
  func `a damaged projection is built again`(part: String) throws {
    let installation = try Installation.renewing(60)
    let digest = try installation.digest()
    var bytes = try Data(contentsOf: live(installation))
    #expect(bytes.count > 16_384)
    let noise = Data((0..<bytes.count).map { UInt8(truncatingIfNeeded: $0 &* 151 &+ 7) })
    switch part {
    case "header": bytes.replaceSubrange(0..<100, with: noise[0..<100])
    case "middle": bytes.replaceSubrange(4096..<bytes.count, with: noise[4096...])
    case "all": bytes = noise
    case "half": bytes = bytes.prefix(bytes.count / 2)
    default: bytes = Data()
    }
    try bytes.write(to: live(installation))
    #expect(try installation.run("verify").code == 1)
    try expectRecovery(installation, digest: digest)
  }

  @Test func `without a projection the journal answers and lists get 503`() throws {
    let installation = try Installation.renewing(3)
    let digest = try installation.digest()
    for name in try installation.files().keys where !name.hasPrefix("journal") {
      try FileManager.default.removeItem(at: installation.data.appending(path: name))
    }
    try expectJournalsAnswer(installation, events: 2)
    let atRest = try installation.run("history", "70001")
    #expect(atRest.code == 0, "\(atRest)")
    // Another process holds the lock of rebuilds, so the daemon's own build has to wait.
    var lock: FolderLockHolder? = try FolderLockHolder(installation.dataFolder)
    let daemon = try installation.startWithoutProjection()
    let client = daemon.client()
    for _ in 0..<3 {
      let row = try #require(client.get("/v1/entitlements/70001"))
      #expect(row.status == 200 && row.json?["event_count"]?.integer == 2)
      let list = try #require(client.get("/v1/entitlements"))
      #expect(list.status == 503 && list.field("Retry-After") != nil)
      #expect(list.json?["code"]?.string == "rows_not_ready")
      let ready = client.get("/readyz", token: nil)
      #expect(ready?.status == 200)
      #expect(["absent", "building"].contains(ready?.json?["projection"]?.string))
    }
    let body = try installation.sign(Sample.notification(50, otid: "70009"))
    #expect(client.post(body)?.status == 200)
    #expect(client.get("/v1/entitlements/70009")?.status == 200)
    #expect(lock != nil)
    lock = nil
    try daemon.command.wait(60, "the projection") {
      client.get("/v1/entitlements")?.status == 200
    }
    #expect(client.get("/v1/entitlements/70009")?.status == 200)
    #expect(client.get("/v1/entitlements")?.json?["items"]?.elements.count == 4)
    #expect(try daemon.stop().code == 0)
    #expect(try installation.verify().code == 0)
    #expect(try installation.digest() != digest)
  }

  @Test func `a missing or damaged list of projections is recovered from`() throws {
    let installation = try Installation.renewing(3)
    let digest = try installation.digest()
    #expect(try installation.run("rebuild", "--apply").code == 0)
    let list = installation.dataFolder.projectionList
    try FileManager.default.removeItem(atPath: list)
    #expect(try installation.roles().isEmpty)
    try expectRecovery(installation, digest: digest, isAside: false)
    // Names of missing files, and text that is not a name.
    for text in ["entitlements-9.sqlite\n", "../journal.sqlite\n", "\u{0}\u{0}", ""] {
      try Data(text.utf8).write(to: URL(filePath: list))
      try expectRecovery(installation, digest: digest, isAside: false)
    }
    try FileManager.default.removeItem(atPath: list)
    let applied = try installation.run("rebuild", "--apply", "--json")
    #expect(applied.code == 0, "\(applied)")
    #expect(try applied.lines().last?["digest"]?.string == digest)
    #expect(try installation.verify().code == 0)
  }
}
