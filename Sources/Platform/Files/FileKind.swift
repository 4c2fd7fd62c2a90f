import Glibc

/// What kind of file a path names. Links are not followed.
public enum FileKind: Sendable {
  case file, folder, link, other

  /// The kind of the file at a path; nil if there is none.
  ///
  /// - Throws: `LedgerError.system`, which holds the path and errno.
  public static func of(_ path: String) throws(LedgerError) -> FileKind? {
    var status = stat()
    guard lstat(path, &status) == 0 else {
      if errno == ENOENT { return nil }
      throw .last("read the status of \(path)")
    }
    switch status.st_mode & S_IFMT {
    case S_IFREG: return .file
    case S_IFDIR: return .folder
    case S_IFLNK: return .link
    default: return .other
    }
  }
}
