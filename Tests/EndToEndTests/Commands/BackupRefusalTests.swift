import Encoding
import Foundation
import JournalStore
import LedgerEngine
import SignedData
import Simulator
import StrictJSON
import Support
import Testing

/// What is not as it was is found, and nothing that is there is ever replaced.
@Suite struct BackupRefusalTests {
  /// The files of a data folder, and of a backup of it; as arrays, since LeakSanitizer does not
  /// find what a static `Data` holds.
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
    guard finished.code == 0 else { throw Trouble("\(finished)") }
    var files: [String: [UInt8]] = [:]
    for name in try FileManager.default.contentsOfDirectory(atPath: backup.path) {
      files[name] = Array(try Data(wholeOf: backup.appending(path: name)))
    }
    return Made(
      authority: installation.authority, data: try installation.files().mapValues { Array($0) },
      backup: files)
  }

  /// An installation without data, beside a backup.
  private func fresh() throws -> (Installation, backup: URL) {
    let made = try Self.made.get()
    let installation = try Installation(authority: made.authority)
    let backup = installation.folder.appending(path: "backup")
    try FileManager.default.createDirectory(at: backup, withIntermediateDirectories: true)
    for (name, bytes) in made.backup { try Data(bytes).write(to: backup.appending(path: name)) }
    return (installation, backup)
  }

  /// An installation with the data of which the backup is.
  private func filled() throws -> Installation {
    let made = try Self.made.get()
    return try Installation(authority: made.authority, files: made.data.mapValues { Data($0) })
  }

  private func exists(_ url: URL) -> Bool {
    (try? FileManager.default.attributesOfItem(atPath: url.path)) != nil
  }

  /// `--check` says so and exits with that code, and so does `restore`, which makes no folder.
  private func expectRefusal(
    _ installation: Installation, _ backup: URL, code: Int32, _ words: String,
    _ location: SourceLocation = #_sourceLocation
  ) throws {
    let names = try FileManager.default.contentsOfDirectory(atPath: backup.path).sorted()
    let checked = try installation.run("backup", "--check", backup.path)
    #expect(checked.code == code, "\(checked)", sourceLocation: location)
    #expect("\(checked)".contains(words), "\(checked)", sourceLocation: location)
    let restored = try installation.run("restore", backup.path)
    #expect(restored.code == code, "\(restored)", sourceLocation: location)
    #expect("\(restored)".contains(words), "\(restored)", sourceLocation: location)
    #expect(!exists(installation.data), sourceLocation: location)
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: backup.path).sorted() == names,
      sourceLocation: location)
  }

  private func describe(_ backup: URL, _ change: (JSONValue) -> JSONValue) throws {
    let file = backup.appending(path: "backup.json")
    let root = try JSONDocument(parsing: Array(try Data(contentsOf: file))).root
    try Data(change(root.value).bytes).write(to: file)
  }

  /// Makes the manifest say what the journal's file is now, as a forger would.
  private func describeAnew(_ backup: URL) throws {
    let bytes = Array(try Data(contentsOf: backup.appending(path: "journal.sqlite")))
    let key = Array(try Data(contentsOf: backup.appending(path: "anchor.key")))
    try describe(backup) { manifest in
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

  // MARK: Old backups

  @Test func aChangedByte() throws {
    for name in ["journal.sqlite", "anchor.key"] {
      let (installation, backup) = try fresh()
      let file = backup.appending(path: name)
      var bytes = try Data(contentsOf: file)
      bytes[bytes.count / 2] ^= 1
      try bytes.write(to: file)
      try expectRefusal(installation, backup, code: 1, "\(name) is not what")
    }
  }

  /// Also where the manifest was made to agree: the chain shows it, or the columns, or the indexes.
  @Test(arguments: [
    ("UPDATE event SET body_sha256 = zeroblob(32) WHERE seq = 3", "seq 3"),
    ("DELETE FROM event WHERE seq = 6", "the journal's head"),
    ("DELETE FROM event WHERE seq = 2", "seq 2: missing"),
    ("UPDATE event SET signed_date_ms = 1 WHERE seq = 4", "column signed_date_ms"),
    ("UPDATE quarantine SET body_sha256 = zeroblob(32)", "quarantine 1"),
    ("DELETE FROM quarantine", "the quarantine is not"),
  ])
  func aChangedJournal(sql: String, words: String) throws {
    let (installation, backup) = try fresh()
    try edit(
      backup,
      "DROP TRIGGER event_update; DROP TRIGGER event_delete; " + sql)
    try describeAnew(backup)
    try expectRefusal(installation, backup, code: 1, words)
  }

  /// A uuid is in the file twice: with its event, which the chain covers, and in the index that
  /// keeps promise 4, which it does not.
  @Test func aChangedIndex() throws {
    var found: [String] = []
    for number in 0..<2 {
      let (installation, backup) = try fresh()
      let file = backup.appending(path: "journal.sqlite")
      var bytes = try Data(contentsOf: file)
      let hex = Sample.uuid(3).filter { $0 != "-" }
      let uuid = try #require(Hexadecimal.decode(hex))
      var places: [Range<Data.Index>] = []
      while let next = bytes.range(
        of: Data(uuid), in: (places.last?.upperBound ?? 0)..<bytes.count)
      { places.append(next) }
      #expect(places.count == 2)
      bytes[places[number].upperBound - 1] ^= 0x40
      try bytes.write(to: file)
      try describeAnew(backup)
      let checked = try installation.run("backup", "--check", backup.path)
      #expect(checked.code == 1, "\(checked)")
      found.append(checked.output)
    }
    #expect(found.contains { $0.contains("seq 3: does not chain") }, "\(found)")
    #expect(
      found.contains { !$0.contains("seq 3:") && $0.contains("missing from index event_uuid") },
      "\(found)")
  }

  @Test func aManifestThatIsNone() throws {
    let (installation, backup) = try fresh()
    let file = backup.appending(path: "backup.json")
    let good = try Data(contentsOf: file)
    for text in ["", "{}", "{\"object\":\"backup\",\"version\":1}", "[1]"] {
      try Data(text.utf8).write(to: file)
      try expectRefusal(installation, backup, code: 1, "backup.json")
    }
    try good.write(to: file)
    try describe(backup) { $0.setting("seq", .integer(5)) }
    try expectRefusal(installation, backup, code: 1, "head")
    try good.write(to: file)
    // A name that leads out of the folder is no name.
    let name = String(decoding: good, as: UTF8.self)
      .replacing("\"anchor.key\"", with: "\"../config.json\"")
    try Data(name.utf8).write(to: file)
    try expectRefusal(installation, backup, code: 1, "backup.json")
    try FileManager.default.removeItem(at: file)
    try expectRefusal(installation, backup, code: 1, "there is no backup.json")
  }

  @Test func filesThatDoNotBelong() throws {
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

  @Test func aNewerVersion() throws {
    let (installation, backup) = try fresh()
    try edit(backup, "PRAGMA user_version=99")
    try describeAnew(backup)
    try expectRefusal(installation, backup, code: 4, "run the newer program")
    let (other, second) = try fresh()
    try describe(second) { $0.setting("version", .integer(2)) }
    try expectRefusal(other, second, code: 4, "run the newer program")
  }

  // MARK: Names that are taken

  @Test func neverOverwrites() throws {
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
    // A link where it would be filled.
    let partial = installation.folder.appending(path: "new.partial")
    try FileManager.default.createSymbolicLink(at: partial, withDestinationURL: backup)
    let new = installation.folder.appending(path: "new")
    let made = try first.run("backup", new.path)
    #expect(made.code == 3 && made.errors.contains("new.partial is there"), "\(made)")
    #expect(!exists(new) && exists(partial))
    #expect(try Data(contentsOf: backup.appending(path: "backup.json")) == before)
  }

  @Test func placesThatCannotBe() throws {
    let (installation, backup) = try fresh()
    let first = try filled()
    for place in ["no/such/folder", "backup/journal.sqlite/x"] {
      let made = try first.run("backup", installation.folder.appending(path: place).path)
      #expect(made.code == 3 && made.errors.contains("make it"), "\(made)")
    }
    // No journal, and nothing left behind.
    let new = installation.folder.appending(path: "new")
    #expect(try installation.run("backup", new.path).code == 1)
    #expect(!exists(new) && !exists(URL(filePath: new.path + ".partial")))
    #expect(try installation.run("backup", "--check", new.path).code == 3)
    #expect(try installation.run("restore", new.path).code == 3)
    #expect(try installation.run("backup").code == 2)
    #expect(try installation.run("restore", backup.path, "x").code == 2)
  }

  /// A journal that is not as promised is not named a backup.
  @Test func aBrokenJournal() throws {
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

  // MARK: Restoring into what is there

  @Test func aFolderThatIsNotEmpty() throws {
    let (installation, backup) = try fresh()
    let data = installation.data
    try FileManager.default.createDirectory(at: data, withIntermediateDirectories: true)
    let notes = data.appending(path: "notes")
    try Data("mine".utf8).write(to: notes)
    let refused = try installation.run("restore", backup.path)
    #expect(refused.code == 3 && refused.errors.contains("is not empty, it has notes"))
    #expect(try FileManager.default.contentsOfDirectory(atPath: data.path) == ["notes"])
    try FileManager.default.removeItem(at: notes)
    // The lock's file is all that a restore which was cut off leaves.
    try Data().write(to: data.appending(path: "lock"))
    let lock = try DataFolder(path: data.path).lock()
    let held = try installation.run("restore", backup.path)
    #expect(held.code == 3 && held.errors.contains("another process"), "\(held)")
    withExtendedLifetime(lock) {}
    #expect(try installation.files().isEmpty)
  }

  /// What a killed restore leaves is no folder for a new, empty journal.
  @Test func aRestoreThatWasCutOff() throws {
    let (installation, backup) = try fresh()
    try FileManager.default.createDirectory(
      at: installation.data, withIntermediateDirectories: true)
    try Data().write(to: installation.data.appending(path: "journal.sqlite.partial"))
    let started = try installation.run("serve")
    #expect(started.code == 1 && started.errors.contains("restore again"), "\(started)")
    #expect(!FileManager.default.fileExists(atPath: installation.journal.path))
    #expect(try installation.run("restore", backup.path).code == 3)
  }

  @Test func aFolderThatIsEmptyButForItsLock() throws {
    let (installation, backup) = try fresh()
    try FileManager.default.createDirectory(
      at: installation.data, withIntermediateDirectories: true)
    try Data().write(to: installation.data.appending(path: "lock"))
    #expect(try installation.run("restore", backup.path).code == 0)
    #expect(try installation.run("restore", backup.path).code == 3)
    #expect(try installation.verify().code == 0)
  }

  @Test func aLinkToAFolder() throws {
    let (installation, backup) = try fresh()
    let elsewhere = installation.folder.appending(path: "elsewhere")
    try FileManager.default.createDirectory(at: elsewhere, withIntermediateDirectories: true)
    try FileManager.default.createSymbolicLink(
      at: installation.data, withDestinationURL: elsewhere)
    let refused = try installation.run("restore", backup.path)
    #expect(refused.code == 3 && refused.errors.contains("is no folder"), "\(refused)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: elsewhere.path).isEmpty)
  }
}
