import Glibc

/// Small files, and the steps that make a change to a folder survive a loss of power.
///
/// A file is durable once it is synced and so is the folder that names it (fsync(2)).
/// Every function throws `PlatformError.system` with the path in it and errno.
public enum DurableFile {
  /// The size in bytes, nil where there is no such file.
  public static func size(_ path: String) throws(PlatformError) -> Int64? {
    var status = stat()
    if stat(path, &status) == 0 { return Int64(status.st_size) }
    guard errno == ENOENT else { throw .last("look at \(path)") }
    return nil
  }

  /// Whether a name leads to a plain file; nil where to nothing.
  public static func isPlain(_ path: String) throws(PlatformError) -> Bool? {
    var status = stat()
    if stat(path, &status) == 0 { return status.st_mode & S_IFMT == S_IFREG }
    guard errno == ENOENT else { throw .last("look at \(path)") }
    return nil
  }

  /// Whether nobody but the owner may read a file.
  public static func isPrivate(_ path: String) throws(PlatformError) -> Bool {
    var status = stat()
    guard stat(path, &status) == 0 else { throw .last("look at \(path)") }
    return status.st_mode & 0o077 == 0
  }

  /// Up to `limit` bytes from the start of a file. A pipe, which might be waited for without end, a
  /// device or a folder in its place is an error (EINVAL).
  public static func read(_ path: String, limit: Int) throws(PlatformError) -> [UInt8] {
    let file = try OpenFile.open(path, O_RDONLY | O_NONBLOCK)
    try file.requireFile(path: path)
    return try file.read(limit: limit, path: path)
  }

  /// Puts a file of mode 0600 in place, whole or not at all, and durably.
  public static func write(_ bytes: [UInt8], to path: String) throws(PlatformError) {
    let fresh = path + ".fresh"
    do {
      let file = try OpenFile.open(fresh, O_WRONLY | O_CREAT | O_TRUNC)
      try file.write(bytes[...], path: fresh)
      try file.sync(path: fresh)
    }
    try rename(fresh, to: path)
  }

  /// Makes an empty file of mode 0600; one that exists is an error (EEXIST).
  public static func create(_ path: String) throws(PlatformError) {
    _ = try OpenFile.open(path, O_WRONLY | O_CREAT | O_EXCL)
  }

  /// Renames over whatever is there and syncs the folder, so that the new name lasts.
  public static func rename(_ from: String, to path: String) throws(PlatformError) {
    guard Glibc.rename(from, path) == 0 else { throw .last("rename \(from)") }
    try syncFolder(of: path)
  }

  /// Removes a file; one that is not there is no error.
  public static func remove(_ path: String) throws(PlatformError) {
    guard unlink(path) == 0 || errno == ENOENT else { throw .last("remove \(path)") }
  }

  /// Syncs a file's content.
  public static func sync(_ path: String) throws(PlatformError) {
    try OpenFile.open(path, O_RDONLY).sync(path: path)
  }

  /// Syncs the folder a file lies in.
  public static func syncFolder(of path: String) throws(PlatformError) {
    let folder = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
    let name = folder.isEmpty ? "/" : folder
    try OpenFile.open(name, O_RDONLY | O_DIRECTORY).sync(path: name)
  }

  /// Replaces a file by a copy of itself in a new inode: write, sync, rename, sync the folder.
  ///
  /// After a failed fsync the kernel may hold pages it believes written and that are not; only
  /// bytes written anew to another inode are certain to reach the disk at its next sync.
  public static func copyToFreshInode(_ path: String) throws(PlatformError) {
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

/// A descriptor, closed with its value.
struct OpenFile: ~Copyable {
  let descriptor: Int32

  static func open(_ path: String, _ flags: Int32) throws(PlatformError) -> OpenFile {
    let descriptor = Glibc.open(path, flags | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw .last("open \(path)") }
    return OpenFile(descriptor: descriptor)
  }

  private init(descriptor: Int32) { self.descriptor = descriptor }

  deinit { close(descriptor) }

  func sync(path: String) throws(PlatformError) {
    guard fsync(descriptor) == 0 else { throw .last("sync \(path)") }
  }

  /// What fstat(2) says of the file itself, whatever its name stands for by now.
  func status(path: String) throws(PlatformError) -> (isFile: Bool, isPrivate: Bool, size: Int64) {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw .last("look at \(path)") }
    return (
      status.st_mode & S_IFMT == S_IFREG, status.st_mode & 0o077 == 0, Int64(status.st_size)
    )
  }

  /// - Throws: EINVAL for anything but a plain file.
  func requireFile(path: String) throws(PlatformError) {
    guard try status(path: path).isFile else {
      throw .system("use \(path), which is no plain file", EINVAL)
    }
  }

  /// Up to `limit` bytes from where the descriptor stands.
  func read(limit: Int, path: String) throws(PlatformError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: limit)
    var filled = 0
    while filled < limit {
      let count = bytes.withUnsafeMutableBytes {
        Glibc.read(descriptor, $0.baseAddress.map { $0 + filled }, limit - filled)
      }
      if count < 0 && errno == EINTR { continue }
      guard count >= 0 else { throw .last("read \(path)") }
      if count == 0 { break }
      filled += count
    }
    bytes.removeLast(limit - filled)
    return bytes
  }

  /// The last byte of a file of that size, above 0.
  func lastByte(of size: Int64, path: String) throws(PlatformError) -> UInt8 {
    var byte: UInt8 = 0
    guard pread(descriptor, &byte, 1, off_t(size - 1)) == 1 else { throw .last("read \(path)") }
    return byte
  }

  func write(_ bytes: ArraySlice<UInt8>, path: String) throws(PlatformError) {
    var rest = bytes
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else { throw .last("write \(path)") }
      rest = rest.dropFirst(count)
    }
  }

  func copy(to target: borrowing OpenFile, path: String) throws(PlatformError) {
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
