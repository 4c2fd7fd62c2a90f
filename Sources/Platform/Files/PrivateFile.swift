import Glibc

/// Small files that are created once and that only their owner may read: keys.
public enum PrivateFile {
  /// What `read` found at a path.
  public enum Found: Sendable, Equatable {
    /// Nothing.
    case absent
    /// A link, a folder or a device.
    case noFile
    /// A file whose mode gives group or others a permission.
    case open
    /// The content of a private file.
    case bytes([UInt8])
  }

  /// Reads up to `limit` bytes. The mode is checked on the open file, so that it belongs to the
  /// content that is read; links are not followed (O_NOFOLLOW in open(2)).
  ///
  /// - Throws: `LedgerError.system`, which holds the path and errno.
  public static func read(_ path: String, limit: Int) throws(LedgerError) -> Found {
    let file: OpenFile
    do throws(LedgerError) {
      // Without O_NONBLOCK, opening a pipe waits for a writer.
      file = try OpenFile.open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
    } catch {
      switch error.number {
      case ENOENT: return .absent
      case ELOOP: return .noFile
      default: throw error
      }
    }
    let status = try file.status(path: path)
    guard status.isFile else { return .noFile }
    guard status.isPrivate else { return .open }
    return .bytes(try file.read(limit: limit, path: path))
  }

  /// Creates a file of mode 0600 atomically and durably, unless the path exists: writes it under
  /// another name, syncs it, and names it with link(2), which replaces nothing.
  ///
  /// - Returns: false if something of that name exists; nothing was changed then. Of two processes
  ///   that create the file at once, one gets false.
  /// - Throws: `LedgerError.system`, which holds the path and errno.
  public static func make(_ bytes: [UInt8], at path: String) throws(LedgerError) -> Bool {
    let fresh = "\(path).\(getpid()).\(UInt32.random(in: 0...UInt32.max)).fresh"
    defer { unlink(fresh) }
    do {
      let file = try OpenFile.open(fresh, O_WRONLY | O_CREAT | O_EXCL)
      try file.write(bytes[...], path: fresh)
      try file.sync(path: fresh)
    }
    let isMade = link(fresh, path) == 0
    guard isMade || errno == EEXIST else { throw .last("create \(path)") }
    // Also if another process was first: the caller will read its file and rely on it.
    try DurableFile.syncFolder(of: path)
    return isMade
  }
}
