import Foundation
import Testing

@testable import JournalStore

/// What promise 1 stands on and no crash of a process shows: only a lost disk would.
@Suite struct DurabilityTests {
  /// 2 is FULL: every commit syncs the -wal (sqlite.org/pragma.html#pragma_synchronous).
  @Test func everyCommitIsSynced() throws {
    let scratch = try Scratch()
    let connection = try scratch.open().journal.connection()
    #expect(try connection.statement("PRAGMA synchronous").first { $0.int(0) } == 2)
    #expect(try connection.statement("PRAGMA journal_mode").first { $0.text(0) } == "wal")
    #expect(try connection.statement("PRAGMA mmap_size").first { $0.int(0) } ?? 0 == 0)
  }

  /// Pages of a -wal whose sync failed may be in memory alone: a start reads a copy of its own.
  @Test func aStartCopiesTheLogToAFreshFile() throws {
    let scratch = try Scratch()
    let opened = try scratch.open()
    _ = try opened.journal.append([.event(Sample.event(1))])
    let crashed = try scratch.crashed()
    let before = try inode(crashed)
    let again = try crashed.open()
    #expect(try inode(crashed) != before)
    #expect(again.journal.head.seq == 1)
  }

  private func inode(_ scratch: Scratch) throws -> Int? {
    let path = scratch.folder.journal + "-wal"
    let attributes = try FileManager.default.attributesOfItem(atPath: path)
    return attributes[.systemFileNumber] as? Int
  }
}
