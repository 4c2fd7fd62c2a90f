import Glibc

/// Lists the names in a folder.
public enum FolderListing {
  /// The names without `.` and `..`, sorted.
  ///
  /// - Throws: `LedgerError.system`, which holds the path and errno.
  public static func names(_ path: String) throws(LedgerError) -> [String] {
    guard let folder = opendir(path) else { throw .last("read the folder \(path)") }
    defer { closedir(folder) }
    var names: [String] = []
    errno = 0
    while let entry = readdir(folder) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
        String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      if name != "." && name != ".." { names.append(name) }
      errno = 0
    }
    guard errno == 0 else { throw .last("read the folder \(path)") }
    return names.sorted()
  }
}
