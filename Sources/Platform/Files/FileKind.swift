import Glibc

/// What a name stands for, a link being a link whatever it leads to.
public enum FileKind: Sendable {
  case file, folder, link, other

  /// Nil where nothing has that name.
  public static func of(_ path: String) throws(PlatformError) -> FileKind? {
    var status = stat()
    guard lstat(path, &status) == 0 else {
      if errno == ENOENT { return nil }
      throw .last("look at \(path)")
    }
    switch status.st_mode & S_IFMT {
    case S_IFREG: return .file
    case S_IFDIR: return .folder
    case S_IFLNK: return .link
    default: return .other
    }
  }
}

/// Which file has a name, and when it was last written: equal stamps, taken while nobody had a
/// reason to set times back, are the same bytes.
public struct FileIdentity: Sendable, Equatable {
  private let inode: UInt64
  private let size: Int64
  private let written: [Int]

  /// Opens nothing, so that no lock of this process is lost (sqlite.org/howtocorrupt.html, 2.2).
  public static func of(_ path: String) throws(PlatformError) -> FileIdentity {
    var status = stat()
    guard stat(path, &status) == 0 else { throw .last("look at \(path)") }
    return FileIdentity(
      inode: UInt64(status.st_ino), size: Int64(status.st_size),
      written: [
        status.st_mtim.tv_sec, status.st_mtim.tv_nsec, status.st_ctim.tv_sec,
        status.st_ctim.tv_nsec,
      ])
  }
}

/// A file read from its start to its end, in pieces.
public enum FileReading {
  private static let room = 1 << 20

  /// Gives every piece, of up to a MiB, to `body`, while that answers true. A link in place of the
  /// file is not followed (ELOOP, open(2)), and a pipe is not waited for (EINVAL).
  ///
  /// - Returns: whether the end was reached.
  /// - Throws: `PlatformError.system` with the path in it, and what `body` throws.
  public static func forEachPiece(
    _ path: String, _ body: (ArraySlice<UInt8>) throws(PlatformError) -> Bool
  ) throws(PlatformError) -> Bool {
    let file = try OpenFile.open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
    try file.requireFile(path: path)
    var piece = [UInt8](repeating: 0, count: room)
    while true {
      let count = piece.withUnsafeMutableBytes {
        Glibc.read(file.descriptor, $0.baseAddress, $0.count)
      }
      if count < 0 && errno == EINTR { continue }
      guard count >= 0 else { throw .last("read \(path)") }
      if count == 0 { return true }
      guard try body(piece[..<count]) else { return false }
    }
  }
}
