import Foundation
import Platform
import Store
import Testing

/// A copy is the journal as of one commit, whatever its writer does meanwhile (promises 1 and 5).
@Suite struct JournalCopyTests {
  /// Events of some MiB in total, so that the copy needs several steps.
  private static let bulk = (1...500).map { Submission.event(event($0)) }

  private static func event(_ number: Int) -> NewEvent {
    Sample.event(number, body: Sample.noise(number, 32_000))
  }

  /// A folder whose journal is a copy of `source`, and the description of the copy.
  private func copy(
    _ source: Scratch, _ progress: (Int64, Int64) -> Bool = { _, _ in true }
  ) throws -> (Scratch, JournalCopy) {
    let target = try Scratch()
    let copied = try JournalCopy.make(
      of: source.folder, at: target.folder.journal, progress: progress)
    return (target, try #require(copied))
  }

  /// Expects one complete file on which a daemon can start.
  private func check(_ target: Scratch, _ copied: JournalCopy) throws {
    #expect(try target.files().keys.sorted() == ["journal.sqlite"])
    let header = try DurableFile.read(target.folder.journal, limit: 20)
    #expect(header[18] == 1 && header[19] == 1, "still in WAL mode")
    let reader = try JournalReader.open(target.folder)
    #expect(try reader.head() == copied.head)
    #expect(try reader.eventCount() == copied.head.seq)
    #expect(try reader.pageFaults() == [])
    var previous = ChainHash.origin
    try reader.forEachRaw(from: 1, through: copied.head.seq) { raw in
      let isIntact = raw.isIntact(after: previous)
      #expect(isIntact, "seq \(raw.event.seq)")
      previous = raw.event.hash
      return isIntact
    }
    reader.close()
    let opened = try target.open()
    #expect(opened.journal.head == copied.head && opened.journal.journalId == copied.journalId)
    try opened.journal.close()
  }

  @Test func `commits during the copy are not in it`() throws {
    let source = try Scratch()
    let opened = try source.open()
    _ = try opened.journal.append(Self.bulk)
    try opened.journal.checkpointIfNeeded()
    let head = opened.journal.head
    var steps = 0
    let (target, copied) = try copy(source) { _, _ in
      steps += 1
      // A copy that restarts with each commit would never end.
      guard steps < 80 else { return false }
      // Large enough for a checkpoint of the whole -wal if there were no reader.
      let batch = (0..<60).map { Submission.event(Self.event(1_000 * steps + $0)) }
      return (try? opened.journal.append(batch)) != nil
        && (try? opened.journal.checkpointIfNeeded()) != nil
    }
    #expect(steps >= 3 && opened.journal.head.seq == head.seq + Int64(steps) * 60)
    #expect(copied.head == head)
    try check(target, copied)
    try opened.journal.close()
  }

  @Test func `a copy during which a daemon starts holds what it wrote`() throws {
    let source = try Scratch()
    do {
      let opened = try source.open()
      _ = try opened.journal.append(Self.bulk)
      try opened.journal.close()
    }
    var opened: Opened?
    let (target, copied) = try copy(source) { _, _ in
      guard opened == nil else { return true }
      opened = try? source.open()
      let batch = (0..<300).map { Submission.event(Self.event(1_000 + $0)) }
      return (try? opened?.journal.append(batch)) != nil
        && (try? opened?.journal.checkpointIfNeeded()) != nil
    }
    #expect(copied.head.seq == 800 && copied.head == opened?.journal.head)
    try check(target, copied)
    try opened?.journal.close()
  }

  @Test(arguments: [false, true]) func `a copy of a journal at rest changes no file beside it`(
    isCrashed: Bool
  ) throws {
    let first = try Scratch()
    var source = first
    let head: Head
    do {
      let opened = try first.open()
      let events = (1...5).map { Submission.event(Sample.event($0)) }
      _ = try opened.journal.append(events + [.quarantine(Sample.quarantine(9))])
      if isCrashed { source = try first.crashed() }
      head = opened.journal.head
      try opened.journal.close()
    }
    let before = try source.files()
    #expect((before["journal.sqlite-wal"] != nil) == isCrashed)
    let (target, copied) = try copy(source)
    #expect(copied.head == head && copied.quarantined == 1 && copied.schema > 0)
    #expect(try source.files() == before, "a file was changed or made beside it")
    try check(target, copied)
  }

  /// A journal that a start refuses must not be backed up: the copy would look valid.
  @Test func `an incomplete journal is not copied`() throws {
    let source = try Scratch()
    let opened = try source.open()
    _ = try opened.journal.append([.event(Sample.event(1))])
    let torn = try source.crashed()
    try DurableFile.remove(torn.folder.journalWAL)
    #expect(throws: LedgerError.missingWAL) { try copy(torn) }
    try opened.journal.close()
  }

  @Test func `a copy stops when progress returns false`() throws {
    let source = try Scratch()
    let opened = try source.open()
    _ = try opened.journal.append(Self.bulk)
    let target = try Scratch()
    let copied = try JournalCopy.make(of: source.folder, at: target.folder.journal) { _, _ in
      false
    }
    #expect(copied == nil)
    try opened.journal.close()
  }
}
