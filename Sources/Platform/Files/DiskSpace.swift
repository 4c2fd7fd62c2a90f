import Glibc

/// What a file system has left.
public struct DiskSpace: Sendable, Equatable {
  /// Bytes that may still be written by somebody who is not root, and bytes in all.
  public let free: Int64
  public let total: Int64

  /// Of the file system that a path lies in (statvfs(3)).
  ///
  /// - Throws: `PlatformError.system` with the path in it and errno.
  public static func of(_ path: String) throws(PlatformError) -> DiskSpace {
    var answer = statvfs()
    guard statvfs(path, &answer) == 0 else { throw .last("look at the disk of \(path)") }
    let block = Int64(clamping: answer.f_frsize)
    return DiskSpace(
      free: product(Int64(clamping: answer.f_bavail), block),
      total: product(Int64(clamping: answer.f_blocks), block))
  }

  private static func product(_ one: Int64, _ other: Int64) -> Int64 {
    let (product, isTooMuch) = one.multipliedReportingOverflow(by: other)
    return isTooMuch ? .max : product
  }
}
