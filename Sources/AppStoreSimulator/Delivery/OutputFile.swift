import Glibc

/// A file that is being written. It is closed when the object is released.
final class OutputFile {
  private let descriptor: Int32
  private let path: String
  private let isOwned: Bool

  private init(descriptor: Int32, path: String, isOwned: Bool) {
    self.descriptor = descriptor
    self.path = path
    self.isOwned = isOwned
  }

  deinit { if isOwned { close(descriptor) } }

  /// Standard output, which is never closed.
  static var standardOutput: OutputFile {
    OutputFile(descriptor: STDOUT_FILENO, path: "standard output", isOwned: false)
  }

  /// Makes a file.
  ///
  /// - Parameter replacing: whether an existing file is emptied.
  /// - Throws: `SimulatorError.exists` if it exists and may not be replaced; `.file` if it cannot
  ///   be made.
  static func create(
    _ path: String, mode: mode_t = 0o644, replacing: Bool = false
  ) throws(SimulatorError) -> OutputFile {
    let flags = O_WRONLY | O_CREAT | O_CLOEXEC | (replacing ? O_TRUNC : O_EXCL)
    let descriptor = open(path, flags, mode)
    guard descriptor >= 0 else {
      throw errno == EEXIST ? .exists(path: path) : .file("make", path: path, code: errno)
    }
    return OutputFile(descriptor: descriptor, path: path, isOwned: true)
  }

  /// Writes all bytes.
  ///
  /// - Throws: `SimulatorError.file` if the system cannot write them.
  func write(_ bytes: [UInt8]) throws(SimulatorError) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count < 0 {
        if errno == EINTR { continue }
        throw .file("write", path: path, code: errno)
      }
      rest = rest.dropFirst(count)
    }
  }

  static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

  /// Renames a file atomically (rename(2)): the new name means the whole new or the whole old file.
  ///
  /// - Throws: `SimulatorError.file` if the system cannot rename it.
  static func rename(_ path: String, to name: String) throws(SimulatorError) {
    guard Glibc.rename(path, name) == 0 else { throw .file("make", path: name, code: errno) }
  }

  static func remove(_ path: String) { unlink(path) }

  /// The content of a small file, at most about 1 MiB of it.
  ///
  /// - Throws: `SimulatorError.file` if it cannot be read.
  static func read(_ path: String) throws(SimulatorError) -> [UInt8] {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw .file("read", path: path, code: errno) }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 16_384)
    while bytes.count < 1 << 20 {
      let count = Glibc.read(descriptor, &chunk, chunk.count)
      guard count >= 0 else { throw .file("read", path: path, code: errno) }
      if count == 0 { break }
      bytes += chunk.prefix(count)
    }
    return bytes
  }
}
