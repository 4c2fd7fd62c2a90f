import AppStoreSimulator
import Foundation
import Ledger
import Platform
import SignedData
import Store
import StrictJSON
import Support
import Testing

/// A changed backup is found, and neither `backup` nor `restore` replaces anything that exists.
@Suite struct BackupRefusalTests {
  /// The files of a data folder and of a backup of it; as arrays, because LeakSanitizer reports
  /// what a static `Data` holds.
  private struct Made: Sendable {
    let authority: SimulatedAuthority
    let data: [String: [UInt8]]
    let backup: [String: [UInt8]]
  }

  private static let made = Result { try make() }

  private static func make() throws -> Made {
    let installation = try Installation()
    let lines = try (1...6).map { try installation.sign(Sample.notification($0)) }
    let foreign = try installation.sign(Sample.notification(90, bundleId: "com.example.foreign"))
    _ = try installation.run(
      "ingest", try installation.file("all", lines + [foreign]), "--skip-bad")
    try Data("a key".utf8).write(to: installation.data.appending(path: "anchor.key"))
    let backup = installation.folder.appending(path: "backup")
    let finished = try installation.run("backup", backup.path)
    guard finished.code == 0 else { throw TestFailure("\(finished)") }
    var files: [String: [UInt8]] = [:]
    for name in try FileManager.default.contentsOfDirectory(atPath: backup.path) {
      files[name] = Array(try Data(wholeOf: backup.appending(path: name)))
    }
    return Made(
      authority: installation.authority, data: try installation.files().mapValues { Array($0) },
      backup: files)
  }

  /// An installation without data, and a backup.
  private func fresh() throws -> (Installation, backup: URL) {
    let made = try Self.made.get()
    let installation = try Installation(authority: made.authority)
    let backup = installation.folder.appending(path: "backup")
    try FileManager.default.createDirectory(at: backup, withIntermediateDirectories: true)
    for (name, bytes) in made.backup { try Data(bytes).write(to: backup.appending(path: name)) }
    return (installation, backup)
  }

  /// An installation with the data that was backed up.
  private func filled() throws -> Installation {
    let made = try Self.made.get()
    return try Installation(authority: made.authority, files: made.data.mapValues { Data($0) })
  }

  private func exists(_ url: URL) -> Bool {
    (try? FileManager.default.attributesOfItem(atPath: url.path)) != nil
  }

  /// Expects that `backup --check` and `restore` both fail with this code and message, and that
  /// `restore` makes no folder.
  private func expectRefusal(
    _ installation: Installation, _ backup: URL, code: Int32, _ message: String,
    _ location: SourceLocation = #_sourceLocation
  ) throws {
    let names = try FileManager.default.contentsOfDirectory(atPath: backup.path).sorted()
    let checked = try installation.run("backup", "--check", backup.path)
    #expect(checked.code == code, "\(checked)", sourceLocation: location)
    #expect("\(checked)".contains(message), "\(checked)", sourceLocation: location)
    let restored = try installation.run("restore", backup.path)
    #expect(restored.code == code, "\(restored)", sourceLocation: location)
    #expect("\(restored)".contains(message), "\(restored)", sourceLocation: location)
    #expect(!exists(installation.data), sourceLocation: location)
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: backup.path).sorted() == names,
      sourceLocation: location)
  }

  private func changeManifest(_ backup: URL, _ change: (JSONValue) -> JSONValue) throws {
    let file = backup.appending(path: "backup.json")
    let root = try JSONDocument(parsing: Array(try Data(contentsOf: file))).root
    try Data(change(root.value).bytes).write(to: file)
  }

  /// Writes the changed journal's size and hash into the manifest, as a forger would.
  private func updateManifest(_ backup: URL) throws {
    let bytes = Array(try Data(contentsOf: backup.appending(path: "journal.sqlite")))
    let key = Array(try Data(contentsOf: backup.appending(path: "anchor.key")))
    try changeManifest(backup) { manifest in
      manifest.setting(
        "files",
        .array(
          [("journal.sqlite", bytes), ("anchor.key", key)].map { name, bytes in
            .object([
              ("name", .string(name)), ("bytes", .integer(Int64(bytes.count))),
              ("sha256", .string(SHA256.hash(bytes).map { String(format: "%02x", $0) }.joined())),
            ])
          }))
    }
  }

  private func edit(_ backup: URL, _ sql: String) throws {
    let path = backup.appending(path: "journal.sqlite").path
    let connection = try SQLiteConnection.open(path, .write)
    try connection.execute("PRAGMA foreign_keys=OFF; " + sql)
    connection.close()
  }

  // MARK: Changed backups

  @Test func `a changed byte is found`() throws {
    for name in ["journal.sqlite", "anchor.key"] {
      let (installation, backup) = try fresh()
      let file = backup.appending(path: name)
      var bytes = try Data(contentsOf: file)
      bytes[bytes.count / 2] ^= 1
      try bytes.write(to: file)
      try expectRefusal(installation, backup, code: 1, "\(name) is not what")
    }
  }

  /// The manifest agrees with the changed file; the chain, the columns or the indexes do not.
  @Test(arguments: [
    ("UPDATE event SET body_sha256 = zeroblob(32) WHERE seq = 3", "seq 3"),
    ("DELETE FROM event WHERE seq = 6", "the journal's head"),
    ("DELETE FROM event WHERE seq = 2", "seq 2: missing"),
    ("UPDATE event SET signed_date_ms = 1 WHERE seq = 4", "column signed_date_ms"),
    ("UPDATE quarantine SET body_sha256 = zeroblob(32)", "quarantine 1"),
    ("DELETE FROM quarantine", "the quarantine is not"),
  ])
  func `a changed journal is found although the manifest agrees`(sql: String, message: String)
    throws
  {
    let (installation, backup) = try fresh()
    try edit(
      backup,
      "DROP TRIGGER event_update; DROP TRIGGER event_delete; " + sql)
    try updateManifest(backup)
    try expectRefusal(installation, backup, code: 1, message)
  }

  /// A uuid is in the file twice: in its event, which the chain covers, and in the index for
  /// promise 4, which the chain does not cover.
  @Test func `a changed index is found although the manifest agrees`() throws {
    var found: [String] = []
    for number in 0..<2 {
      let (installation, backup) = try fresh()
      let file = backup.appending(path: "journal.sqlite")
      var bytes = try Data(contentsOf: file)
      let hex = Sample.uuid(3).filter { $0 != "-" }
      let uuid = try #require(Hexadecimal.decode(hex))
      var ranges: [Range<Data.Index>] = []
      while let next = bytes.range(
        of: Data(uuid), in: (ranges.last?.upperBound ?? 0)..<bytes.count)
      { ranges.append(next) }
      #expect(ranges.count == 2)
      bytes[ranges[number].upperBound - 1] ^= 0x40
      try bytes.write(to: file)
      try updateManifest(backup)
      let checked = try installation.run("backup", "--check", backup.path)
      #expect(checked.code == 1, "\(checked)")
      found.append(checked.output)
    }
    #expect(found.contains { $0.contains("seq 3: does not chain") }, "\(found)")
    #expect(
      found.contains { !$0.contains("seq 3:") && $0.contains("missing from index event_uuid") },
      "\(found)")
  }

  @Test func `a damaged manifest is refused`() throws {
    let (installation, backup) = try fresh()
    let file = backup.appending(path: "backup.json")
    let good = try Data(contentsOf: file)
    for text in ["", "{}", "{\"object\":\"backup\",\"version\":1}", "[1]"] {
      try Data(text.utf8).write(to: file)
      try expectRefusal(installation, backup, code: 1, "backup.json")
    }
    try good.write(to: file)
    try changeManifest(backup) { $0.setting("seq", .integer(5)) }
    try expectRefusal(installation, backup, code: 1, "head")
    try good.write(to: file)
    // A name that leads out of the folder is refused.
    let name = String(decoding: good, as: UTF8.self)
      .replacing("\"anchor.key\"", with: "\"../config.json\"")
    try Data(name.utf8).write(to: file)
    try expectRefusal(installation, backup, code: 1, "backup.json")
    try FileManager.default.removeItem(at: file)
    try expectRefusal(installation, backup, code: 1, "there is no backup.json")
  }

  @Test func `extra journal files and links are refused`() throws {
    for name in ["journal.sqlite-wal", "journal.sqlite-journal"] {
      let (installation, backup) = try fresh()
      try Data(repeating: 7, count: 400).write(to: backup.appending(path: name))
      try expectRefusal(installation, backup, code: 1, name)
    }
    for name in ["journal.sqlite", "anchor.key", "backup.json"] {
      let (installation, backup) = try fresh()
      let elsewhere = installation.folder.appending(path: "elsewhere")
      try FileManager.default.moveItem(at: backup.appending(path: name), to: elsewhere)
      try FileManager.default.createSymbolicLink(
        at: backup.appending(path: name), withDestinationURL: elsewhere)
      try expectRefusal(installation, backup, code: 1, name)
    }
  }

  @Test func `a backup from a newer version exits with 4`() throws {
    let (installation, backup) = try fresh()
    try edit(backup, "PRAGMA user_version=99")
    try updateManifest(backup)
    try expectRefusal(installation, backup, code: 4, "run the newer program")
    let (other, second) = try fresh()
    try changeManifest(second) { $0.setting("version", .integer(2)) }
    try expectRefusal(other, second, code: 4, "run the newer program")
  }

  // MARK: Existing files

  @Test func `backup never overwrites a file, a folder or a link`() throws {
    let (installation, backup) = try fresh()
    let before = try Data(contentsOf: backup.appending(path: "backup.json"))
    let first = try filled()
    let file = installation.folder.appending(path: "file")
    let link = installation.folder.appending(path: "link")
    let nowhere = installation.folder.appending(path: "nowhere")
    try Data("mine".utf8).write(to: file)
    try FileManager.default.createSymbolicLink(at: link, withDestinationURL: nowhere)
    for path in [backup.path, backup.path + "/", file.path, link.path, link.path + "/"] {
      let made = try first.run("backup", path)
      #expect(made.code == 3 && made.errors.contains("overwrites nothing"), "\(path): \(made)")
    }
    #expect(try Data(contentsOf: file) == Data("mine".utf8) && !exists(nowhere))
    #expect(try Data(contentsOf: backup.appending(path: "backup.json")) == before)
    // A link at the path of the partial folder.
    let partial = installation.folder.appending(path: "new.partial")
    try FileManager.default.createSymbolicLink(at: partial, withDestinationURL: backup)
    let new = installation.folder.appending(path: "new")
    let made = try first.run("backup", new.path)
    #expect(made.code == 3 && made.errors.contains("new.partial exists"), "\(made)")
    #expect(!exists(new) && exists(partial))
    #expect(try Data(contentsOf: backup.appending(path: "backup.json")) == before)
  }

  @Test func `impossible backup paths are refused and leave nothing behind`() throws {
    let (installation, backup) = try fresh()
    let first = try filled()
    for name in ["no/such/folder", "backup/journal.sqlite/x"] {
      let made = try first.run("backup", installation.folder.appending(path: name).path)
      #expect(made.code == 3 && made.errors.contains("make it"), "\(made)")
    }
    // Without a journal no backup is made, and no files are left.
    let new = installation.folder.appending(path: "new")
    #expect(try installation.run("backup", new.path).code == 3)
    #expect(!exists(new) && !exists(URL(filePath: new.path + ".partial")))
    #expect(try installation.run("backup", "--check", new.path).code == 3)
    #expect(try installation.run("restore", new.path).code == 3)
    #expect(try installation.run("backup").code == 2)
    #expect(try installation.run("restore", backup.path, "x").code == 2)
  }

  /// A backup gets its name only after its check.
  @Test func `a broken journal is not backed up`() throws {
    let installation = try filled()
    let connection = try SQLiteConnection.open(installation.journal.path, .write)
    try connection.execute(
      "DROP TRIGGER event_update; UPDATE event SET signed_date_ms = 5 WHERE seq = 2")
    try connection.checkpointTruncate()
    connection.close()
    let new = installation.folder.appending(path: "new")
    let made = try installation.run("backup", new.path)
    #expect(made.code == 1 && made.errors.contains("seq 2: column signed_date_ms"), "\(made)")
    #expect(made.errors.contains("subledger verify"))
    #expect(!exists(new) && !exists(URL(filePath: new.path + ".partial")))
  }

  // MARK: Existing data folders

  @Test func `restore refuses a folder that is not empty or is locked`() throws {
    let (installation, backup) = try fresh()
    let data = installation.data
    try FileManager.default.createDirectory(at: data, withIntermediateDirectories: true)
    let notes = data.appending(path: "notes")
    try Data("mine".utf8).write(to: notes)
    let refused = try installation.run("restore", backup.path)
    #expect(refused.code == 3 && refused.errors.contains("is not empty, it contains notes"))
    #expect(try FileManager.default.contentsOfDirectory(atPath: data.path) == ["notes"])
    try FileManager.default.removeItem(at: notes)
    // A lock file alone is what a refused restore leaves.
    try Data().write(to: data.appending(path: "lock"))
    let lock = try DataFolder(path: data.path).lock()
    let held = try installation.run("restore", backup.path)
    #expect(held.code == 3 && held.errors.contains("another process"), "\(held)")
    withExtendedLifetime(lock) {}
    #expect(try installation.files().isEmpty)
  }

  /// After a killed restore, `serve` must not begin a new, empty journal in the folder.
  @Test func `an interrupted restore is no data folder for serve`() throws {
    let (installation, backup) = try fresh()
    try FileManager.default.createDirectory(
      at: installation.data, withIntermediateDirectories: true)
    try Data().write(to: installation.data.appending(path: "journal.sqlite.partial"))
    let started = try installation.run("serve")
    #expect(started.code == 1 && started.errors.contains("restore again"), "\(started)")
    #expect(!FileManager.default.fileExists(atPath: installation.journal.path))
    #expect(try installation.run("restore", backup.path).code == 3)
  }

  @Test func `restore accepts a folder that has only a lock file`() throws {
    let (installation, backup) = try fresh()
    try FileManager.default.createDirectory(
      at: installation.data, withIntermediateDirectories: true)
    try Data().write(to: installation.data.appending(path: "lock"))
    #expect(try installation.run("restore", backup.path).code == 0)
    #expect(try installation.run("restore", backup.path).code == 3)
    #expect(try installation.verify().code == 0)
  }

  @Test func `restore refuses a link to a folder`() throws {
    let (installation, backup) = try fresh()
    let elsewhere = installation.folder.appending(path: "elsewhere")
    try FileManager.default.createDirectory(at: elsewhere, withIntermediateDirectories: true)
    try FileManager.default.createSymbolicLink(
      at: installation.data, withDestinationURL: elsewhere)
    let refused = try installation.run("restore", backup.path)
    #expect(refused.code == 3 && refused.errors.contains("is not a folder"), "\(refused)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: elsewhere.path).isEmpty)
  }
}
