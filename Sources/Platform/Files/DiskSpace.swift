import CLinux
import Glibc

/// The free space of a file system.
public struct DiskSpace: Sendable, Equatable {
  /// Bytes that a process other than root's may still write.
  public let free: Int64
  /// The size of the file system in bytes.
  public let total: Int64

  /// The space of the file system that holds a path (statvfs(3)).
  ///
  /// - Throws: `LedgerError.system`, which holds the path and errno.
  public static func of(_ path: String) throws(LedgerError) -> DiskSpace {
    var answer = statvfs()
    guard statvfs(path, &answer) == 0 else { throw .last("read the free space at \(path)") }
    let block = Int64(clamping: answer.f_frsize)
    return DiskSpace(
      free: product(Int64(clamping: answer.f_bavail), block),
      total: product(Int64(clamping: answer.f_blocks), block))
  }

  /// Whether the file system that holds a folder takes a quarter of a megabyte now: what it reports
  /// as free knows no quota. The file has no name, so no crash leaves it behind (open(2),
  /// `O_TMPFILE`).
  ///
  /// - Returns: false also where the file system makes no such files.
  public static func takesBytes(_ folder: String) -> Bool {
    let bytes = [UInt8](repeating: 0xFF, count: 262_144)
    do throws(LedgerError) {
      let file = try OpenFile.open(folder, O_WRONLY | subledger_tmpfile)
      try file.write(bytes[...], path: folder)
      try file.sync(path: folder)
      return true
    } catch {
      return false
    }
  }

  private static func product(_ one: Int64, _ other: Int64) -> Int64 {
    let (product, overflows) = one.multipliedReportingOverflow(by: other)
    return overflows ? .max : product
  }
}
