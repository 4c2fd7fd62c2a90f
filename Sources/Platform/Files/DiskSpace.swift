import Glibc

/// The free space of a file system.
public struct DiskSpace: Sendable, Equatable {
  /// Bytes that a process other than root's may still write.
  public let free: Int64
  /// The size of the file system in bytes.
  public let total: Int64

  /// The space of the file system that holds a path (statvfs(3)).
  ///
  /// - Throws: `PlatformError.system`, which holds the path and errno.
  public static func of(_ path: String) throws(PlatformError) -> DiskSpace {
    var answer = statvfs()
    guard statvfs(path, &answer) == 0 else { throw .last("read the free space at \(path)") }
    let block = Int64(clamping: answer.f_frsize)
    return DiskSpace(
      free: product(Int64(clamping: answer.f_bavail), block),
      total: product(Int64(clamping: answer.f_blocks), block))
  }

  private static func product(_ one: Int64, _ other: Int64) -> Int64 {
    let (product, overflows) = one.multipliedReportingOverflow(by: other)
    return overflows ? .max : product
  }
}
