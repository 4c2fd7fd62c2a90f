import Glibc

/// Writes a file in parts, under a temporary name; the file gets its final name only when it is
/// complete.
public final class AtomicFileWriter {
  private let path: String
  private let partial: String
  private let descriptor: Int32
  private var buffer: [UInt8] = []
  private var isFinished = false

  /// Bytes after which the buffer is written.
  private static let capacity = 1 << 16

  /// Creates the temporary file, `path` and the suffix `.partial`, with mode 0600, or truncates it.
  ///
  /// - Throws: `LedgerError.system`, which holds the path and errno.
  public init(_ path: String) throws(LedgerError) {
    self.path = path
    partial = path + ".partial"
    descriptor = open(partial, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw .last("create \(partial)") }
  }

  /// Removes the temporary file of a write that was not finished.
  deinit {
    close(descriptor)
    if !isFinished { unlink(partial) }
  }

  /// Writes text in UTF-8, through a buffer.
  ///
  /// - Throws: `LedgerError.system`, which holds the path and errno.
  public func write(_ text: String) throws(LedgerError) { try write(Array(text.utf8)) }

  /// Writes bytes, through a buffer.
  ///
  /// - Throws: `LedgerError.system`, which holds the path and errno.
  public func write(_ bytes: [UInt8]) throws(LedgerError) {
    buffer += bytes
    if buffer.count >= Self.capacity { try flush() }
  }

  /// Syncs the file and gives it its final name, durably. Replaces a file of that name.
  ///
  /// - Throws: `LedgerError.system`, which holds the path and errno.
  public func finish() throws(LedgerError) {
    try flush()
    guard fsync(descriptor) == 0 else { throw .last("sync \(partial)") }
    guard rename(partial, path) == 0 else { throw .last("rename to \(path)") }
    isFinished = true
    try DurableFile.syncFolder(of: path)
  }

  private func flush() throws(LedgerError) {
    var rest = buffer[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else { throw .last("write \(partial)") }
      rest = rest.dropFirst(count)
    }
    buffer.removeAll(keepingCapacity: true)
  }
}
