import Foundation
import Testing

@testable import Store

/// Conditions of promise 1 that a crash of the process cannot test, but only a loss of power.
@Suite struct DurabilityTests {
  /// 2 is FULL: every commit syncs the -wal (sqlite.org/pragma.html#pragma_synchronous).
  @Test func `every commit is synced`() throws {
    let scratch = try Scratch()
    let connection = try scratch.open().journal.connection()
    #expect(try connection.statement("PRAGMA synchronous").first { $0.int(0) } == 2)
    #expect(try connection.statement("PRAGMA journal_mode").first { $0.text(0) } == "wal")
    #expect(try connection.statement("PRAGMA mmap_size").first { $0.int(0) } ?? 0 == 0)
  }

  /// Pages of a -wal whose sync failed may only be in memory, so a start reads a new copy.
  @Test func `a start copies the -wal to a fresh inode`() throws {
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
