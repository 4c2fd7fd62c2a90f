import Glibc

/// A symbolic link that is replaced atomically.
public enum SymbolicLink {
  /// Makes `path` lead to `target`, which is relative to the link's folder. Whoever opens it finds
  /// the old or the new target. Not synced: it can be made again at any time.
  ///
  /// - Throws: what the file system reports.
  public static func replace(_ path: String, target: String) throws(LedgerError) {
    if self.target(of: path) == target { return }
    let fresh = path + ".new"
    unlink(fresh)
    guard symlink(target, fresh) == 0, Glibc.rename(fresh, path) == 0 else {
      throw .last("make the link \(path)")
    }
  }

  /// Where the link leads; nil if there is none.
  public static func target(of path: String) -> String? {
    var buffer = [UInt8](repeating: 0, count: 4096)
    let count = buffer.withUnsafeMutableBytes { bytes in
      bytes.withMemoryRebound(to: CChar.self) { text in
        text.baseAddress.map { readlink(path, $0, text.count) } ?? -1
      }
    }
    return count > 0 ? String(decoding: buffer[..<count], as: UTF8.self) : nil
  }
}
