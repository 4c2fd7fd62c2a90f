import Glibc

/// Which inode a path names, its size, and when it was last changed. Equal identities mean equal
/// content, unless a process has set the file's times back.
public struct FileIdentity: Sendable, Equatable {
  private let inode: UInt64
  private let size: Int64
  private let changed: [Int]

  /// Whether both are of one inode, whatever was written meanwhile.
  public func isSameFile(as other: FileIdentity) -> Bool { inode == other.inode }

  /// When its content was last changed, in nanoseconds since 1970.
  public var modified: Int { changed[0] * 1_000_000_000 + changed[1] }

  /// The identity of the file at a path.
  ///
  /// Uses stat(2) alone: opening and closing a database file would release the locks that SQLite
  /// holds in this process (sqlite.org/howtocorrupt.html, section 2.2).
  ///
  /// - Throws: `LedgerError.system`, which holds the path and errno.
  public static func of(_ path: String) throws(LedgerError) -> FileIdentity {
    var status = stat()
    guard stat(path, &status) == 0 else { throw .last("read the status of \(path)") }
    return FileIdentity(
      inode: UInt64(status.st_ino), size: Int64(status.st_size),
      changed: [
        status.st_mtim.tv_sec, status.st_mtim.tv_nsec, status.st_ctim.tv_sec,
        status.st_ctim.tv_nsec,
      ])
  }
}
