import AppStore
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
}
