import Glibc

/// An open file descriptor, closed at the end of the value's life. Not for a database file: closing
/// it would release the locks that SQLite holds in this process (sqlite.org/howtocorrupt.html,
/// section 2.2).
///
/// Every function throws `LedgerError.system`, which holds the path and errno.
public struct OpenFile: ~Copyable {
  let descriptor: Int32

  /// Opens a plain file that is there, to read it wherever its name leads to later.
  ///
  /// - Throws: `LedgerError.system`, which holds the path and errno; EINVAL for another kind.
  public static func existing(_ path: String) throws(LedgerError) -> OpenFile {
    let file = try open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
    try file.requireFile(path: path)
    return file
  }

  /// Opens a file; O_CREAT creates it with mode 0600.
  static func open(_ path: String, _ flags: Int32) throws(LedgerError) -> OpenFile {
    let descriptor = Glibc.open(path, flags | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw .last("open \(path)") }
    return OpenFile(descriptor: descriptor)
  }

  private init(descriptor: Int32) { self.descriptor = descriptor }

  deinit { close(descriptor) }

  /// Syncs the content.
  ///
  /// - Throws: `LedgerError.system`, which holds the path and errno.
  func sync(path: String) throws(LedgerError) {
    guard fsync(descriptor) == 0 else { throw .last("sync \(path)") }
  }

  /// The status of the open file (fstat(2)), also when its path names another file by now.
  func status(path: String) throws(LedgerError) -> (isFile: Bool, isPrivate: Bool, size: Int64) {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw .last("read the status of \(path)") }
    return (
      status.st_mode & S_IFMT == S_IFREG, FileMode.isPrivate(status), Int64(status.st_size)
    )
  }

  /// Throws EINVAL unless this is a plain file.
  func requireFile(path: String) throws(LedgerError) {
    guard try status(path: path).isFile else {
      throw .system("use \(path), which is not a plain file", EINVAL)
    }
  }

  private static let firstRead = 65_536

  /// Reads up to `limit` bytes from the descriptor's current offset.
  func read(limit: Int, path: String) throws(LedgerError) -> [UInt8] {
    // As much as has come so far, doubled: a limit may be far more than a file has.
    var bytes = [UInt8](repeating: 0, count: min(limit, Self.firstRead))
    var filled = 0
    while filled < limit {
      if filled == bytes.count {
        bytes += [UInt8](repeating: 0, count: min(filled, limit - filled))
      }
      let rest = bytes.count - filled
      let count = bytes.withUnsafeMutableBytes {
        Glibc.read(descriptor, $0.baseAddress.map { $0 + filled }, rest)
      }
      if count < 0 && errno == EINTR { continue }
      guard count >= 0 else { throw .last("read \(path)") }
      if count == 0 { break }
      filled += count
    }
    bytes.removeLast(bytes.count - filled)
    return bytes
  }

  /// The last byte of a file of `size` bytes, which is above 0.
  func lastByte(of size: Int64, path: String) throws(LedgerError) -> UInt8 {
    var byte: UInt8 = 0
    guard pread(descriptor, &byte, 1, off_t(size - 1)) == 1 else { throw .last("read \(path)") }
    return byte
  }

  /// Reads bytes from an offset: fewer where the file ends before.
  ///
  /// - Throws: `LedgerError.system`, which holds the path and errno.
  public func read(_ count: Int, at offset: Int, path: String) throws(LedgerError) -> [UInt8] {
    // An array of no bytes would be written to what all empty arrays share, also by other threads.
    guard count > 0 else { return [] }
    var code: Int32 = 0
    let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      while filled < count {
        let found = pread(
          descriptor, buffer.baseAddress.map { $0 + filled }, count - filled, offset + filled)
        if found < 0 && errno == EINTR { continue }
        guard found > 0 else {
          code = found < 0 ? errno : 0
          return
        }
        filled += found
      }
    }
    guard code == 0 else { throw .system("read \(path)", code) }
    return bytes
  }

  func write(_ bytes: ArraySlice<UInt8>, path: String) throws(LedgerError) {
    var rest = bytes
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else { throw .last("write \(path)") }
      rest = rest.dropFirst(count)
    }
  }

  /// Copies the rest of the file, up to its end.
  func copy(to target: borrowing OpenFile, path: String) throws(LedgerError) {
    var block = [UInt8](repeating: 0, count: 1 << 20)
    while true {
      let count = block.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress, $0.count) }
      if count < 0 && errno == EINTR { continue }
      guard count >= 0 else { throw .last("read \(path)") }
      if count == 0 { return }
      try target.write(block[..<count], path: path)
    }
  }
}
