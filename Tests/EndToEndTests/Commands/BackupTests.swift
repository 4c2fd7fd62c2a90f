import Foundation
import Store
import StrictJSON
import Support
import Testing

/// A backup is a prefix of the journal with everything that was answered before it began, and can
/// be restored into a data folder.
@Suite struct BackupTests {
  private static let backups = TestCount.backups.number
  /// Microseconds between posts: in a longer run the load is higher.
  private static let pause: UInt32 = TestCount.backups.isSet ? 1_000 : 80_000

  private struct ChainEntry: Equatable {
    let seq: Int64, hash: [UInt8], uuid: String
  }

  private func entries(_ journal: URL) throws -> [ChainEntry] {
    let connection = try SQLiteConnection.open(journal.path, .immutable)
    defer { connection.close() }
    return try connection.statement(
      "SELECT seq, hash, notification_uuid FROM journal_v1 ORDER BY seq"
    ).all { ChainEntry(seq: $0.int(0), hash: $0.bytes(1), uuid: $0.text(2)) }
  }

  /// Twelve events of three customers, a foreign notification, and a key.
  private func filled() throws -> Installation {
    let installation = try Installation()
    let lines = try (1...12).map { number in
      try installation.sign(Sample.notification(number, otid: "700\(number % 3)"))
    }
    let foreign = try installation.sign(Sample.notification(90, bundleId: "com.example.foreign"))
    let ingested = try installation.run(
      "ingest", try installation.file("all", lines + [foreign]), "--skip-bad")
    #expect(ingested.code == 1, "\(ingested)")
    return installation
  }

  @Test func `nightly makes a backup that its date names, and ends at SIGTERM`() throws {
    let installation = try filled()
    for wrong in ["3:30", "24:00", "03:60", "now"] {
      let refused = try installation.run("backup", "/nowhere", "--nightly", wrong)
      #expect(refused.code == 2 && refused.errors.contains("03:30"), "\(refused)")
    }
    let next = Date(timeIntervalSinceNow: 60).ISO8601Format()
    let command = try installation.launch([
      "backup", installation.folder.path, "--nightly",
      String(next.split(separator: "T")[1].prefix(5)), "--config", installation.config.path,
    ])
    let path = installation.folder.appending(path: "subledger-\(next.prefix(10))")
    try command.wait(90, "the backup of this minute") { isThere(path) }
    command.signal(SIGTERM)
    #expect(try command.finish(within: 60).code == 0)
    let checked = try installation.run("backup", "--check", path.path)
    #expect(checked.code == 0, "\(checked)")
  }

  private func isThere(_ path: URL) -> Bool {
    (try? FileManager.default.attributesOfItem(atPath: path.path)) != nil
  }

  private func mode(_ path: URL) throws -> Int? {
    try FileManager.default.attributesOfItem(atPath: path.path)[.posixPermissions] as? Int
  }

  /// Another installation with the same apps and roots, restored from a backup.
  private func restored(_ backup: URL, of first: Installation) throws -> Installation {
    let other = try Installation(authority: first.authority)
    let finished = try other.run("restore", backup.path)
    #expect(finished.code == 0 && finished.output.contains("subledger recover"), "\(finished)")
    return other
  }

  // MARK: Under load

  private struct MadeBackup {
    let folder: URL
    /// What was answered before it began: uuid and seq.
    let answered: [String: Int64]
    let manifest: JSONElement
  }

  private func makeBackup(
    _ number: Int, _ installation: Installation, _ traffic: BackupTraffic
  ) throws -> MadeBackup {
    let folder = installation.folder.appending(path: "backup-\(number)")
    let answered = traffic.answered
    let made = try installation.run("backup", folder.path, "--json")
    #expect(made.code == 0, "\(made)")
    return MadeBackup(
      folder: folder, answered: answered, manifest: try #require(try made.lines().last))
  }

  private func check(_ made: MadeBackup, _ final: [ChainEntry]) throws {
    let entries = try entries(made.folder.appending(path: "journal.sqlite"))
    #expect(entries == Array(final.prefix(entries.count)), "\(made.folder.lastPathComponent)")
    #expect(entries.count == made.manifest["seq"]?.integer.map { Int($0) })
    let seqs = Dictionary(uniqueKeysWithValues: entries.map { ($0.uuid, $0.seq) })
    let missing = made.answered.filter { seqs[$0.key] != $0.value }
    #expect(missing.isEmpty, "answered before the backup, and not in it")
    #expect(entries.count < final.count, "no event was journaled after it")
  }

  /// Makes backups while notifications arrive. Then compares each with the final journal, restores
  /// two, and sends everything again, as Apple would: the rows become those of the original.
  @Test func `backups under load are prefixes of the journal and can be restored`() throws {
    let installation = try Installation()
    let daemon = try installation.start()
    let traffic = BackupTraffic(installation, pause: Self.pause)
    traffic.start(daemon.port)
    try daemon.command.wait(60, "some answers") { traffic.answered.count >= 30 }
    var made: [MadeBackup] = []
    for number in 1...Self.backups { made.append(try makeBackup(number, installation, traffic)) }
    let count = traffic.answered.count
    try daemon.command.wait(60, "more answers") { traffic.answered.count > count + 10 }
    traffic.end()
    #expect(try daemon.stop().code == 0)
    let final = try entries(installation.journal)
    #expect(final.count == traffic.answered.count)
    for item in made {
      try check(item, final)
      let checked = try installation.run("backup", "--check", item.folder.path)
      #expect(checked.code == 0, "\(checked)")
    }
    let truth = try installation.verify()
    #expect(truth.code == 0)
    for item in [made[0], made[made.count - 1]] {
      let other = try restored(item.folder, of: installation)
      try resend(traffic.bodies.shuffled(), to: other, item.manifest)
      let verified = try other.verify()
      #expect(verified.code == 0, "\(verified.report.value.text)")
      #expect(verified.report["events"]?.integer == truth.report["events"]?.integer)
      #expect(verified.report["digest"]?.string == truth.report["digest"]?.string)
      #expect(verified.report["digest"]?.string != nil)
    }
  }

  /// Half of the bodies over HTTP to a daemon on the restored folder, half with `ingest`.
  private func resend(
    _ bodies: [[UInt8]], to other: Installation, _ manifest: JSONElement
  ) throws {
    #expect(try other.verify().code == 0)
    #expect(try other.events().count == manifest["seq"]?.integer.map { Int($0) })
    let daemon = try other.start()
    let client = daemon.client()
    let half = bodies.count / 2
    for body in bodies.prefix(half) { #expect(client.post(body) != nil) }
    let file = try other.file("rest", Array(bodies.dropFirst(half)))
    let rest = try other.run("ingest", file, "--skip-bad")
    #expect(rest.code <= 1, "\(rest)")
    #expect(try daemon.stop().code == 0)
  }

  // MARK: Contents

  @Test func `a backup holds journal, key and manifest, all private`() throws {
    let installation = try filled()
    let key = Data((0..<48).map { UInt8($0) })
    try key.write(to: installation.data.appending(path: "anchor.key"))
    let before = try installation.files()
    let backup = installation.folder.appending(path: "backup")
    let made = try installation.run("backup", backup.path + "/")
    #expect(made.code == 0 && made.output.contains("12 events"), "\(made)")
    #expect(try installation.files() == before, "the data folder was changed")
    let names = try FileManager.default.contentsOfDirectory(atPath: backup.path).sorted()
    #expect(names == ["anchor.key", "backup.json", "journal.sqlite"])
    #expect(try mode(backup) == 0o700)
    for name in names { #expect(try mode(backup.appending(path: name)) == 0o600) }
    let other = try Installation(authority: installation.authority)
    try FileManager.default.createDirectory(at: other.data, withIntermediateDirectories: true)
    let restored = try other.run("restore", backup.path, "--json")
    #expect(try restored.lines().last?["seq"]?.integer == 12, "\(restored)")
    #expect(try other.files()["anchor.key"] == key)
    #expect(try mode(other.data) == 0o700)
    for name in ["anchor.key", "journal.sqlite"] {
      #expect(try mode(other.data.appending(path: name)) == 0o600)
    }
    let listed = try other.run("quarantine", "list", "--json")
    #expect(try listed.lines().count == 1, "\(listed)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: backup.path).sorted() == names)
    #expect(try installation.run("backup", "--check", backup.path).code == 0)
  }

  /// `verify` checks the signatures of a backup without restoring it.
  @Test func `verify checks a backup and writes nothing to it`() throws {
    let installation = try filled()
    let backup = installation.folder.appending(path: "backup")
    #expect(try installation.run("backup", backup.path).code == 0)
    let verified = try installation.run("verify", "--data", backup.path, "--json")
    #expect(verified.code == 0, "\(verified)")
    #expect(try verified.lines().last?["events"]?.integer == 12)
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: backup.path).sorted()
        == ["backup.json", "journal.sqlite"])
  }

  // MARK: Interruptions

  /// Kills the command at several moments.
  @Test func `a killed backup leaves a good backup or none`() throws {
    let installation = try filled()
    var killed = 0
    for round in 0..<12 {
      let folder = installation.folder.appending(path: "killed-\(round)")
      let partial = URL(filePath: folder.path + ".partial")
      let command = try installation.launch(
        ["backup", folder.path, "--config", installation.config.path])
      try command.wait(60, "the backup to begin") {
        isThere(partial) || isThere(folder) || !command.isRunning
      }
      usleep(UInt32(round) * 12_000)
      command.signal(SIGKILL)
      try command.finish()
      guard !isThere(folder) else {
        #expect(try installation.run("backup", "--check", folder.path).code == 0)
        continue
      }
      killed += 1
      let again = try installation.run("backup", folder.path)
      #expect(again.code == 3 && again.errors.contains("remove it (rm -r)"), "\(again)")
      try FileManager.default.removeItem(at: partial)
      if round == 0 { #expect(try installation.run("backup", folder.path).code == 0) }
    }
    #expect(killed > 0, "every backup ended before it was killed")
  }

  @Test func `an interrupted backup leaves no files`() throws {
    let installation = try filled()
    let folder = installation.folder.appending(path: "stopped")
    let partial = URL(filePath: folder.path + ".partial")
    let command = try installation.launch(
      ["backup", folder.path, "--config", installation.config.path])
    try command.wait(60, "the backup to begin") { isThere(partial) }
    command.signal(SIGINT)
    let finished = try command.finish()
    #expect(finished.code == 130 && finished.errors.contains("stopped"), "\(finished)")
    #expect(!isThere(folder) && !isThere(partial))
    #expect(try installation.run("backup", folder.path).code == 0)
  }
}
