import CLinux
import Glibc

/// An exclusive flock(2) on a folder's lock file, held for the value's life.
///
/// Promise 10: one writer. The kernel releases the lock when the process ends, also when it
/// crashes. The file itself is never removed: after a removal two processes could each hold a lock
/// on a file of that name.
public struct FolderLock: ~Copyable, Sendable {
  /// The path of the lock file.
  public let path: String
  private let descriptor: Int32

  /// How often to try, 2 ms apart.
  private static let attempts = 50

  /// Acquires the lock; creates the lock file with mode 0600 if there is none.
  ///
  /// - Returns: nil when another process, or another value in this one, holds the lock.
  /// - Throws: `LedgerError.system`, which holds the path and errno: ELOOP when the path is a
  ///   link, so that nothing is created at its target.
  public static func acquire(_ path: String) throws(LedgerError) -> FolderLock? {
    let descriptor = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw .last("open \(path)") }
    var code = EWOULDBLOCK
    // `isHeld` in another process holds the lock for a moment, so try again before giving up.
    for attempt in 0..<attempts where code == EWOULDBLOCK {
      if attempt > 0 { usleep(2_000) }
      if flock(descriptor, LOCK_EX | LOCK_NB) == 0 {
        return FolderLock(path: path, descriptor: descriptor)
      }
      code = errno
    }
    close(descriptor)
    guard code == EWOULDBLOCK else { throw .system("lock \(path)", code) }
    return nil
  }

  /// Whether a process holds the lock now. Creates nothing.
  ///
  /// - Throws: `LedgerError.system`, which holds the path and errno.
  public static func isLocked(_ path: String) throws(LedgerError) -> Bool {
    let descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else {
      if errno == ENOENT { return false }
      throw .last("open \(path)")
    }
    defer { close(descriptor) }
    if flock(descriptor, LOCK_SH | LOCK_NB) == 0 { return false }
    guard errno == EWOULDBLOCK else { throw .last("test the lock on \(path)") }
    return true
  }

  private init(path: String, descriptor: Int32) {
    self.path = path
    self.descriptor = descriptor
  }

  deinit { close(descriptor) }
}
