import AppStore
import Foundation
import Platform
import SignedData
import Testing

@testable import Store

/// What is owed to an erased account survives a crash (docs: forgetting an account).
@Suite struct ErasureTests {
  private static let name = "Ann Example 4711"

  /// The files in which the account's name is.
  private func files(_ scratch: Scratch) throws -> [String] {
    try scratch.files().filter { $0.value.firstRange(of: Array(Self.name.utf8)) != nil }
      .keys.sorted()
  }

  private static let claim = Submission.statement(
    NewStatement(
      .claim(originalTransactionId: "2000000000000000"), of: CustomerName(.account, name),
      environment: .production, bundleId: "com.example.app", token: "test",
      receivedAt: 1_767_225_600_000))

  @Test func `a copy that was killed when it had just followed an erasure empties its files`()
    throws
  {
    let (first, second) = (try FollowTests.Copy(), try FollowTests.Copy())
    _ = try first.append([.event(Sample.event(1)), Self.claim])
    try second.journal.follow(first.tail)
    #expect(try first.erase(account: Self.name))
    try second.journal.follow(first.tail)
    let killed = try second.scratch.crashed()
    #expect(try !files(killed).isEmpty)
    let started = try FollowTests.Copy(killed)
    #expect(try files(started.scratch) == [] && !started.journal.hasErased)
  }

  @Test func `a journal that was killed before it emptied its files does so at its next start`()
    throws
  {
    let scratch = try Scratch()
    do {
      let opened = try scratch.open()
      _ = try opened.journal.append([.event(Sample.event(1)), Self.claim])
      // A reader keeps the -wal in use.
      let reader = try JournalReader.open(scratch.folder)
      try reader.beginSnapshot()
      _ = try reader.head()
      #expect(throws: LedgerError.busy) { _ = try opened.journal.erase(account: Self.name) }
      let killed = try scratch.crashed()
      #expect(try !files(killed).isEmpty)
      let again = try killed.open()
      #expect(try files(killed) == [])
      withExtendedLifetime(again) {}
      reader.endSnapshot()
      #expect(opened.journal.hasErased)
      try opened.journal.emptyWAL()
      #expect(!opened.journal.hasErased)
    }
    #expect(try files(scratch) == [])
  }

  @Test func `a former journal that cannot be removed yet is removed by a later call`() throws {
    let scratch = try Scratch()
    let opened = try scratch.open()
    _ = try opened.journal.append([.event(Sample.event(1)), Self.claim])
    // A folder is removed as little as a file that no descriptor is left to look for.
    let former = scratch.folder.path + "/" + DataFolder.formerJournal + "1.sqlite"
    #expect(mkdir(former, 0o700) == 0)
    #expect(throws: LedgerError.busy) { _ = try opened.journal.erase(account: Self.name) }
    #expect(opened.journal.hasErased)
    _ = try opened.journal.append([.event(Sample.event(2))])
    #expect(rmdir(former) == 0)
    #expect(FileManager.default.createFile(atPath: former, contents: Data(Self.name.utf8)))
    try opened.journal.emptyWAL()
    #expect(try !opened.journal.hasErased && files(scratch) == [])
  }

  @Test(arguments: [false, true])
  func `no file has an account that was erased, in whatever order accounts come and go`(
    isShared: Bool
  ) throws {
    var accounts = try ErasedAccounts(isShared: isShared)
    while try accounts.turn() {
      #expect(try accounts.found() == [])
    }
    #expect(try accounts.foundInBackup() == [])
  }

  @Test func `what an earlier program left of erased accounts goes with the first start`() throws {
    let scratch = try Scratch()
    do {
      let opened = try scratch.open()
      _ = try opened.journal.append([.event(Sample.event(1)), Self.claim])
      try opened.journal.close()
    }
    let connection = try SQLiteConnection.open(scratch.folder.journal, .write)
    let page = try connection.statement(
      "SELECT rootpage FROM sqlite_schema WHERE name = 'account'"
    ).first { $0.int(0) }
    try connection.execute("DELETE FROM migration WHERE number > 10; PRAGMA user_version = 10")
    try connection.checkpointTruncate()
    connection.close()
    // Where SQLite leaves a copy: in front of the cells.
    let file = try #require(FileHandle(forUpdatingAtPath: scratch.folder.journal))
    try file.seek(toOffset: UInt64(try #require(page) - 1) * 4_096 + 1_000)
    try file.write(contentsOf: Array("Bob Example 4712".utf8))
    try file.close()
    try scratch.open().journal.close()
    let left = try scratch.files().filter {
      $0.value.firstRange(of: Array("Bob Example 4712".utf8)) != nil
    }
    #expect(left.keys.sorted() == [])
    #expect(try files(scratch) == ["journal.sqlite"])
    let opened = try scratch.open()
    #expect(try opened.journal.erase(account: Self.name))
    #expect(try files(scratch) == [])
  }

  @Test func `the gap of a page is found in pages of trees alone`() {
    func gap(_ start: [UInt8], at offset: Int64 = 4_096, count: Int = 4_096) -> Range<Int>? {
      let page = start + [UInt8](repeating: 1, count: count - start.count)
      return page.withUnsafeBytes { PageGaps.gap(of: $0, at: offset) }
    }
    // A leaf with two cells, which begin at 4,000; an inner page with one.
    #expect(gap([13, 0, 0, 0, 2, 0x0F, 0xA0, 0]) == 12..<4_000)
    #expect(gap([2, 0, 0, 0, 1, 0x0F, 0xA0, 0]) == 14..<4_000)
    let first = [UInt8](repeating: 9, count: 100) + [13, 0, 0, 0, 2, 0x0F, 0xA0, 0]
    #expect(gap(first, at: 0) == 112..<4_000)
    #expect(gap([13, 0, 0, 0, 0, 0, 0, 0], at: 65_536, count: 65_536) == 8..<65_536)
    // A page that belongs to no tree, one without a gap, one that is damaged, a part of a page.
    #expect(gap([0, 0, 0, 9, 2, 0x0F, 0xA0, 0]) == nil)
    #expect(gap([13, 0, 0, 0, 2, 0, 12, 0]) == nil && gap([13, 0, 0, 0, 2, 0xFF, 0xA0, 0]) == nil)
    #expect(gap([13, 0, 0, 0, 2, 0x0F, 0xA0, 0], at: 100) == nil && gap([13], count: 100) == nil)
  }
}
