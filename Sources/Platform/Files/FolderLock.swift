import CLinux
import Glibc

/// An exclusive flock(2) on a folder's lock file, held until the value ends.
///
/// Promise 10: one writer. The kernel drops the lock when the process dies, however it dies, and
/// the file itself stays: removing it would let two processes hold a lock of the same name.
public struct FolderLock: ~Copyable, Sendable {
  /// The lock file that is held.
  public let path: String
  private let descriptor: Int32

  /// How many times to try, 2 ms apart.
  private static let patience = 50

  /// Takes the lock; nil when another process (or another value in this one) holds it. A link in
  /// its place is an error (ELOOP): nothing is made where it leads to.
  public static func take(_ path: String) throws(PlatformError) -> FolderLock? {
    let descriptor = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw .last("open \(path)") }
    var code = EWOULDBLOCK
    // Who only looks whether it is held holds it for a moment (`isHeld`): that is not an owner.
    for attempt in 0..<patience where code == EWOULDBLOCK {
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

  /// Whether somebody holds the lock now. Creates nothing.
  public static func isHeld(_ path: String) throws(PlatformError) -> Bool {
    let descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else {
      if errno == ENOENT { return false }
      throw .last("open \(path)")
    }
    defer { close(descriptor) }
    if flock(descriptor, LOCK_SH | LOCK_NB) == 0 { return false }
    guard errno == EWOULDBLOCK else { throw .last("probe \(path)") }
    return true
  }

  private init(path: String, descriptor: Int32) {
    self.path = path
    self.descriptor = descriptor
  }

  deinit { close(descriptor) }
}
