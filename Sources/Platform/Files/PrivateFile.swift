import Glibc

/// Small files that are made once and only their owner may read: keys.
public enum PrivateFile {
  /// What is at a path.
  public enum Found: Sendable, Equatable {
    case absent
    /// A link, a folder, a device: no file of one's own.
    case noFile
    /// Group or others may read or write it.
    case open
    case bytes([UInt8])
  }

  /// Reads up to `limit` bytes. Mode and content are of the same file, whatever the path names a
  /// moment later; links are not followed (O_NOFOLLOW in open(2)).
  ///
  /// - Throws: `PlatformError.system` with the path in it and errno.
  public static func read(_ path: String, limit: Int) throws(PlatformError) -> Found {
    let file: OpenFile
    do throws(PlatformError) {
      // Without O_NONBLOCK a pipe would be waited for.
      file = try OpenFile.open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
    } catch {
      switch error {
      case .system(_, ENOENT): return .absent
      case .system(_, ELOOP): return .noFile
      default: throw error
      }
    }
    let status = try file.status(path: path)
    guard status.isFile else { return .noFile }
    guard status.isPrivate else { return .open }
    return .bytes(try file.read(limit: limit, path: path))
  }

  /// Makes a file of mode 0600, whole and durably, where there is nothing yet: written under
  /// another name, synced, and given its name by link(2), which replaces nothing.
  ///
  /// - Returns: false where something is there already, of whatever kind, and nothing was changed.
  ///   Of two who make it at once, one is told so.
  public static func make(_ bytes: [UInt8], at path: String) throws(PlatformError) -> Bool {
    let fresh = "\(path).\(getpid()).\(UInt32.random(in: 0...UInt32.max)).fresh"
    defer { unlink(fresh) }
    do {
      let file = try OpenFile.open(fresh, O_WRONLY | O_CREAT | O_EXCL)
      try file.write(bytes[...], path: fresh)
      try file.sync(path: fresh)
    }
    let isMade = link(fresh, path) == 0
    guard isMade || errno == EEXIST else { throw .last("make \(path)") }
    // Also where another one was first: what is found here shall still be there after a power loss.
    try DurableFile.syncFolder(of: path)
    return isMade
  }
}
