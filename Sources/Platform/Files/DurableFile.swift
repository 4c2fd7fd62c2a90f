import Glibc

/// Reads and writes small files so that a change survives a power loss.
///
/// A file is durable once the file itself and the folder that holds its name are synced (fsync(2)).
public enum DurableFile {
  /// The size in bytes; nil if there is no such file.
  ///
  /// - Throws: `LedgerError.system`, which holds the path and errno.
  public static func size(_ path: String) throws(LedgerError) -> Int64? {
    var status = stat()
    if stat(path, &status) == 0 { return Int64(status.st_size) }
    guard errno == ENOENT else { throw .last("read the status of \(path)") }
    return nil
  }

  /// Whether a path leads to a plain file; nil if to nothing. Follows links.
  ///
  /// - Throws: `LedgerError.system`, which holds the path and errno.
  public static func isPlain(_ path: String) throws(LedgerError) -> Bool? {
    var status = stat()
    if stat(path, &status) == 0 { return status.st_mode & S_IFMT == S_IFREG }
    guard errno == ENOENT else { throw .last("read the status of \(path)") }
    return nil
  }

  /// Whether the mode of a file gives group and others no permission.
  ///
  /// - Throws: `LedgerError.system`, which holds the path and errno.
  public static func isPrivate(_ path: String) throws(LedgerError) -> Bool {
    var status = stat()
    guard stat(path, &status) == 0 else { throw .last("read the status of \(path)") }
    return FileMode.isPrivate(status)
  }

  /// Reads up to `limit` bytes from the start of a file.
  ///
  /// - Throws: `LedgerError.system`, which holds the path and errno: EINVAL for a pipe, which
  ///   might never end, a device or a folder.
  public static func read(_ path: String, limit: Int) throws(LedgerError) -> [UInt8] {
    let file = try OpenFile.open(path, O_RDONLY | O_NONBLOCK)
    try file.requireFile(path: path)
    return try file.read(limit: limit, path: path)
  }

  /// Writes a file of mode 0600 atomically and durably: under the suffix `.fresh`, synced, then
  /// renamed over `path`.
  ///
  /// - Throws: `LedgerError.system`, which holds the path and errno. `path` is
  ///   unchanged then, unless only the sync of the folder failed.
  public static func write(_ bytes: [UInt8], to path: String) throws(LedgerError) {
    let fresh = path + ".fresh"
    do {
      let file = try OpenFile.open(fresh, O_WRONLY | O_CREAT | O_TRUNC)
      try file.write(bytes[...], path: fresh)
      try file.sync(path: fresh)
    }
    try rename(fresh, to: path)
  }

  /// Creates an empty file of mode 0600.
  ///
  /// - Throws: `LedgerError.system` with EEXIST when something has that name, or the errno of
  ///   open(2).
  public static func create(_ path: String) throws(LedgerError) {
    _ = try OpenFile.open(path, O_WRONLY | O_CREAT | O_EXCL)
  }

  /// Renames a file, replacing one of the new name, and syncs the folder.
  ///
  /// - Throws: `LedgerError.system`, which holds the path and errno.
  public static func rename(_ from: String, to path: String) throws(LedgerError) {
    guard Glibc.rename(from, path) == 0 else { throw .last("rename \(from)") }
    try syncFolder(of: path)
  }

  /// Removes a file if it exists.
  ///
  /// - Throws: `LedgerError.system`, which holds the path and errno.
  public static func remove(_ path: String) throws(LedgerError) {
    guard unlink(path) == 0 || errno == ENOENT else { throw .last("remove \(path)") }
  }

  /// Syncs the content of a file.
  ///
  /// - Throws: `LedgerError.system`, which holds the path and errno.
  public static func sync(_ path: String) throws(LedgerError) {
    try OpenFile.open(path, O_RDONLY).sync(path: path)
  }

  /// Syncs the folder that holds a file.
  ///
  /// - Throws: `LedgerError.system`, which holds the path and errno.
  public static func syncFolder(of path: String) throws(LedgerError) {
    let folder = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
    let name = folder.isEmpty ? "/" : folder
    try OpenFile.open(name, O_RDONLY | O_DIRECTORY).sync(path: name)
  }

  /// Replaces a file by a copy of itself in a new inode: write, sync, rename, sync the folder.
  ///
  /// After a failed fsync the kernel may mark pages as written that are not; only bytes written
  /// again, to another inode, are certain to reach the disk with its next sync.
  ///
  /// - Throws: `LedgerError.system`, which holds the path and errno.
  public static func copyToFreshInode(_ path: String) throws(LedgerError) {
    let fresh = path + ".fresh"
    do {
      let source = try OpenFile.open(path, O_RDONLY)
      let target = try OpenFile.open(fresh, O_WRONLY | O_CREAT | O_TRUNC)
      try source.copy(to: target, path: path)
      try target.sync(path: fresh)
    }
    try rename(fresh, to: path)
  }
}
