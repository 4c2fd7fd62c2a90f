import Foundation
import Platform
import Support
import Testing

/// Promise 10: one writer for each folder.
@Suite struct FolderLockTests {
  /// Whether the lock could be acquired; it is released again.
  private func canAcquire(_ path: String) throws -> Bool {
    guard let lock = try FolderLock.acquire(path) else { return false }
    return lock.path == path
  }

  /// Whether no process holds the lock. A test that starts a process at the same time gives it a
  /// copy of the descriptor, which is closed a moment later.
  private func isReleased(_ path: String) throws -> Bool {
    for _ in 0..<12_000 {
      if try !FolderLock.isLocked(path) { return true }
      usleep(5_000)
    }
    return false
  }

  @Test func `a second lock is refused while the first is held`() throws {
    let scratch = try Scratch()
    let path = scratch.path + "/lock"
    guard let lock = try FolderLock.acquire(path) else {
      Issue.record("a new lock was refused")
      return
    }
    #expect(try !canAcquire(path))
    #expect(try FolderLock.isLocked(path))
    let held = lock.path
    #expect(held == path)
    _ = consume lock
    #expect(try isReleased(path))
    #expect(try canAcquire(path) && canAcquire(path))
    #expect(try FolderListing.names(scratch.path) == ["lock"], "the file stays")
  }

  @Test func `a lock without a file is not held, and asking creates none`() throws {
    let scratch = try Scratch()
    #expect(try !FolderLock.isLocked(scratch.path + "/lock"))
    #expect(try FolderListing.names(scratch.path).isEmpty)
  }

  @Test func `a link in place of the lock file is refused`() throws {
    let scratch = try Scratch()
    let (link, target) = (scratch.path + "/lock", scratch.path + "/target")
    #expect(symlink(target, link) == 0)
    let code = errorCode { () throws(LedgerError) in _ = try FolderLock.acquire(link) }
    #expect(code == ELOOP)
    #expect(try FileKind.of(target) == nil)
  }
}
