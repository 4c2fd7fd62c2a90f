import CLinux
import Glibc

/// A file of lines that only grows, by whole lines that are synced to the disk.
public enum AppendedFile {
  /// How often to try to lock the file, 5 ms apart.
  private static let lockAttempts = 200

  /// Appends a line and its line feed, and returns once they are on the disk. Creates the file with
  /// mode 0600 if there is none; does not follow links.
  ///
  /// If a power loss cut the last line short, a line feed is written first, so that the new line
  /// stands alone. If the disk is full, the file is truncated to its old size. Several processes
  /// may append at once; each holds the file's lock meanwhile.
  ///
  /// - Throws: `LedgerError.system`, which holds the path and errno: EWOULDBLOCK when another
  ///   process held the lock for a second, EINVAL when the path is not a plain file. Nothing was
  ///   appended then, except that the whole line may be there if only the sync failed.
  public static func append(line: [UInt8], to path: String) throws(LedgerError) {
    let file = try OpenFile.open(
      path, O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK)
    guard try file.status(path: path).isFile else {
      throw .system("append to \(path), which is not a plain file", EINVAL)
    }
    try lock(file, path)
    // Closing the descriptor drops the lock.
    let size = try file.status(path: path).size
    let isTorn = size > 0 ? try file.lastByte(of: size, path: path) != 0x0A : false
    let bytes: [UInt8] = (isTorn ? [0x0A] : []) + line + [0x0A]
    do throws(LedgerError) {
      try file.write(bytes[...], path: path)
    } catch {
      _ = ftruncate(file.descriptor, off_t(size))
      throw error
    }
    try file.sync(path: path)
    if size == 0 { try DurableFile.syncFolder(of: path) }
  }

  /// The last bytes of a file, at most `bytes` of them; empty if there is no such file.
  ///
  /// - Throws: `LedgerError.system`, which holds the path and errno.
  public static func tail(_ path: String, bytes: Int) throws(LedgerError) -> [UInt8] {
    guard let size = try DurableFile.size(path) else { return [] }
    let file = try OpenFile.open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
    guard lseek(file.descriptor, off_t(max(0, size - Int64(bytes))), SEEK_SET) >= 0 else {
      throw .last("read \(path)")
    }
    return try file.read(limit: bytes, path: path)
  }

  private static func lock(_ file: borrowing OpenFile, _ path: String) throws(LedgerError) {
    var code: Int32 = 0
    for attempt in 0..<lockAttempts {
      if attempt > 0 { usleep(5_000) }
      if flock(file.descriptor, LOCK_EX | LOCK_NB) == 0 { return }
      code = errno
      guard code == EWOULDBLOCK || code == EINTR else { break }
    }
    throw .system("lock \(path)", code)
  }
}
