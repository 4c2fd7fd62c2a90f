import CLinux
import Glibc

/// A file of lines that only grows, by whole lines that are synced.
public enum AppendedFile {
  /// How many times to try for the lock, 5 ms apart.
  private static let patience = 200

  /// Appends a line and its end, and returns once it is on the disk. Makes the file, of mode 0600,
  /// where there is none; links are not followed.
  ///
  /// A last line that a power loss tore is ended first, so that the new one is a line of its own.
  /// What does not fit is taken back: no line is left torn by a full disk. Several may append at
  /// once, each under the file's lock.
  ///
  /// - Throws: `PlatformError.system` with the path in it and errno; nothing was added then, or,
  ///   where only the sync failed, perhaps the whole line.
  public static func append(line: [UInt8], to path: String) throws(PlatformError) {
    let file = try OpenFile.open(
      path, O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK)
    guard try file.status(path: path).isFile else {
      throw .system("append to \(path), which is no file", EINVAL)
    }
    try lock(file, path)
    // Closing the descriptor drops the lock.
    let size = try file.status(path: path).size
    let isTorn = size > 0 ? try file.lastByte(of: size, path: path) != 0x0A : false
    let bytes: [UInt8] = (isTorn ? [0x0A] : []) + line + [0x0A]
    do throws(PlatformError) {
      try file.write(bytes[...], path: path)
    } catch {
      _ = ftruncate(file.descriptor, off_t(size))
      throw error
    }
    try file.sync(path: path)
    if size == 0 { try DurableFile.syncFolder(of: path) }
  }

  /// The last bytes of a file, so many at most; none where there is no such file.
  public static func tail(_ path: String, bytes: Int) throws(PlatformError) -> [UInt8] {
    guard let size = try DurableFile.size(path) else { return [] }
    let file = try OpenFile.open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
    guard lseek(file.descriptor, off_t(max(0, size - Int64(bytes))), SEEK_SET) >= 0 else {
      throw .last("read \(path)")
    }
    return try file.read(limit: bytes, path: path)
  }

  private static func lock(_ file: borrowing OpenFile, _ path: String) throws(PlatformError) {
    var code: Int32 = 0
    for attempt in 0..<patience {
      if attempt > 0 { usleep(5_000) }
      if flock(file.descriptor, LOCK_EX | LOCK_NB) == 0 { return }
      code = errno
      guard code == EWOULDBLOCK || code == EINTR else { break }
    }
    throw .system("lock \(path)", code)
  }
}
