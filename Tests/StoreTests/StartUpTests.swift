import Foundation
import Platform
import Store
import Testing

/// Promise 10, and that a refused start changes no file.
@Suite struct StartUpTests {
  /// A folder as after a crash, with a non-empty -wal.
  private func crashed(_ events: Int = 5, from first: Int = 1) throws -> Scratch {
    let scratch = try Scratch()
    let opened = try scratch.open()
    _ = try opened.journal.append((first..<(first + events)).map { .event(Sample.event($0)) })
    return try scratch.crashed()
  }

  /// The error of a start. Expects that no byte of a file changed.
  private func refusal(_ scratch: Scratch) throws -> LedgerError? {
    let lock = try scratch.folder.lock()
    let before = try scratch.files()
    var refusal: LedgerError?
    do throws(LedgerError) {
      _ = try Journal.open(scratch.folder, lock: lock, now: 1)
    } catch {
      refusal = error
    }
    #expect(try scratch.files() == before)
    return refusal
  }

  private func change(_ path: String, at offset: UInt64, to bytes: [UInt8]) throws {
    let file = try #require(FileHandle(forUpdatingAtPath: path))
    try file.seek(toOffset: offset)
    try file.write(contentsOf: bytes)
    try file.close()
  }

  @Test func `a second journal on the same folder is refused and changes nothing`() throws {
    let scratch = try Scratch()
    let opened = try scratch.open()
    let before = try scratch.files()
    #expect(try scratch.folder.isLocked())
    #expect(throws: LedgerError.locked) { try Opened(scratch.folder) }
    #expect(try scratch.files() == before)
    try opened.journal.close()
  }

  @Test func `a journal with tables of Litestream is refused`() throws {
    let scratch = try Scratch()
    try scratch.open().journal.close()
    let connection = try SQLiteConnection.open(scratch.folder.journal, .write)
    try connection.execute("CREATE TABLE _litestream_seq (id INTEGER PRIMARY KEY, seq INTEGER)")
    connection.close()
    let refusal = try #require(try refusal(scratch))
    #expect(refusal.code == .foreign && refusal.message.contains("Litestream"))
  }

  @Test func `a crash loses no event`() throws {
    let scratch = try crashed()
    let opened = try scratch.open()
    #expect(opened.journal.head.seq == 5)
    _ = try opened.journal.append([.event(Sample.event(6))])
    let again = try scratch.crashed().open()
    #expect(again.journal.head == opened.journal.head)
  }

  /// As after a failure of the disk: nothing closes the journal, and no reader retains the -wal.
  @Test func `a journal that is not closed leaves its -wal`() throws {
    let scratch = try Scratch()
    for count in 1...3 {
      let opened = try scratch.open()
      _ = try opened.journal.append([.event(Sample.event(count))])
      #expect(opened.journal.head.seq == Int64(count))
    }
    #expect(try scratch.files()["journal.sqlite-wal"]?.isEmpty == false)
    #expect(try scratch.open().journal.head.seq == 3)
  }

  @Test func `close leaves one file and makes later calls throw`() throws {
    let scratch = try Scratch()
    do {
      let opened = try scratch.open()
      _ = try opened.journal.append([.event(Sample.event(1))])
      try opened.journal.close()
      #expect(throws: LedgerError.self) { try opened.journal.append([]) }
    }
    #expect(try scratch.files().keys.sorted() == ["journal.sqlite", "lock"])
    let reader = try JournalReader.open(scratch.folder)
    #expect(try reader.head().seq == 1)
    #expect(try scratch.files().keys.sorted() == ["journal.sqlite", "lock"])
  }

  @Test func `files and folder are accessible to the owner only`() throws {
    let scratch = try Scratch()
    let opened = try scratch.open()
    _ = try opened.journal.append([.event(Sample.event(1))])
    for path in [scratch.folder.journal, scratch.folder.journalWAL, scratch.folder.lockFile] {
      let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions]
      #expect(mode as? Int == 0o600)
    }
    let mode = try FileManager.default.attributesOfItem(atPath: scratch.folder.path)[
      .posixPermissions]
    #expect(mode as? Int == 0o700)
  }

  @Test func `an empty file is refused`() throws {
    let scratch = try Scratch()
    _ = FileManager.default.createFile(atPath: scratch.folder.journal, contents: Data())
    #expect(try refusal(scratch) == .foreign("journal.sqlite is empty"))
  }

  @Test func `a text file is refused`() throws {
    let scratch = try Scratch()
    let text = Data(String(repeating: "dear diary\n", count: 900).utf8)
    _ = FileManager.default.createFile(atPath: scratch.folder.journal, contents: text)
    #expect(try refusal(scratch) == .foreign("journal.sqlite is not an SQLite file"))
  }

  @Test func `another program's file is refused`() throws {
    let scratch = try crashed()
    try change(scratch.folder.journal, at: 68, to: [0, 0, 0, 9])
    #expect(try refusal(scratch) == .foreign("journal.sqlite is another program's file"))
  }

  @Test func `a newer schema is refused`() throws {
    let scratch = try crashed()
    try change(scratch.folder.journal, at: 60, to: [0, 0, 0, 99])
    #expect(try refusal(scratch) == .newer(found: 99, known: 11))
    // A reader sees the file through its -wal, which has the former schema number.
    try FileManager.default.removeItem(atPath: scratch.folder.journalWAL)
    #expect(throws: LedgerError.newer(found: 99, known: 11)) {
      try JournalReader.open(scratch.folder)
    }
  }

  @Test func `a copy without its -wal is refused`() throws {
    let scratch = try crashed()
    try FileManager.default.removeItem(atPath: scratch.folder.journalWAL)
    #expect(try refusal(scratch) == .missingWAL)
    _ = FileManager.default.createFile(atPath: scratch.folder.journalWAL, contents: Data())
    #expect(try refusal(scratch) == .missingWAL)
  }

  @Test func `a -wal of another journal is refused`() throws {
    let scratch = try crashed()
    let other = try crashed(3, from: 50)
    try FileManager.default.removeItem(atPath: scratch.folder.journalWAL)
    try FileManager.default.copyItem(
      atPath: other.folder.journalWAL, toPath: scratch.folder.journalWAL)
    #expect(
      try refusal(scratch) == .foreign("journal.sqlite-wal belongs to another journal"))
    try Data(repeating: 65, count: 9_000).write(to: URL(filePath: scratch.folder.journalWAL))
    #expect(
      try refusal(scratch)
        == .foreign("journal.sqlite-wal does not belong to journal.sqlite"))
  }

  /// A loss of power may leave a -wal with its length but only zeros.
  @Test func `a -wal of zeros counts as missing`() throws {
    let scratch = try Scratch()
    do {
      let opened = try scratch.open()
      _ = try opened.journal.append([.event(Sample.event(1))])
      try opened.journal.close()
    }
    let zeros = Data(repeating: 0, count: 9_000)
    try zeros.write(to: URL(filePath: scratch.folder.journalWAL))
    #expect(try JournalReader.open(scratch.folder).head().seq == 1)
    let opened = try scratch.open()
    _ = try opened.journal.append([.event(Sample.event(2))])
    #expect(try scratch.crashed().open().journal.head.seq == 2)
    // If the open flag is set, a -wal of zeros counts as missing.
    let crashed = try crashed()
    try zeros.write(to: URL(filePath: crashed.folder.journalWAL))
    #expect(try refusal(crashed) == .missingWAL)
  }

  @Test func `an older -wal is refused`() throws {
    let scratch = try Scratch()
    let opened = try scratch.open()
    _ = try opened.journal.append([.event(Sample.event(1))])
    let older = try scratch.crashed()
    for batch in 0..<2 {
      let numbers = (2 + batch * 600)..<(602 + batch * 600)
      _ = try opened.journal.append(
        numbers.map { .event(Sample.event($0, body: Sample.noise($0, 36_000))) })
      try opened.journal.checkpointIfNeeded()
    }
    let newer = try scratch.crashed()
    try FileManager.default.removeItem(atPath: newer.folder.journalWAL)
    try FileManager.default.copyItem(
      atPath: older.folder.journalWAL, toPath: newer.folder.journalWAL)
    #expect(try refusal(newer) == .foreign("journal.sqlite-wal is older than journal.sqlite"))
  }

  @Test func `a -wal without its journal is refused`() throws {
    let scratch = try crashed()
    try FileManager.default.removeItem(atPath: scratch.folder.journal)
    #expect(
      try refusal(scratch) == .foreign("journal.sqlite is missing and its -wal is there"))
  }

  @Test(arguments: [
    "UPDATE event SET hash = zeroblob(32) WHERE seq = 3",
    "UPDATE event SET received_at_ms = received_at_ms + 1 WHERE seq = 3",
    "UPDATE event SET body = x'0041' WHERE seq = 3", "DELETE FROM event WHERE seq = 3",
    "UPDATE event SET notification_uuid = zeroblob(16) WHERE seq = 3",
  ]) func `a broken chain among the last events is refused`(_ sql: String) throws {
    let scratch = try crashed()
    try scratch.open().journal.close()
    let connection = try SQLiteConnection.open(scratch.folder.journal, .write)
    try connection.execute("DROP TRIGGER event_update; DROP TRIGGER event_delete; \(sql)")
    connection.close()
    #expect(try refusal(scratch) == .brokenTail(seq: 3))
  }

  @Test func `a changed migration is refused`() throws {
    let scratch = try crashed()
    try scratch.open().journal.close()
    let connection = try SQLiteConnection.open(scratch.folder.journal, .write)
    try connection.execute("UPDATE migration SET sha256 = zeroblob(32)")
    connection.close()
    #expect(try refusal(scratch) == .frozenMigration(number: 1))
  }

  @Test func `the folder may have any name`() throws {
    let scratch = try Scratch()
    let folder = DataFolder(path: scratch.folder.path + "/50% off?#1 é//")
    try folder.create()
    let opened = try Opened(folder)
    _ = try opened.journal.append([.event(Sample.event(1))])
    #expect(try JournalReader.open(folder).head().seq == 1)
  }
}
