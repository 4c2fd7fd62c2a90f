import Glibc

/// A file that is written bit by bit and is there, under its name, only once it is whole.
public final class AtomicFileWriter {
  private let path: String
  private let partial: String
  private let descriptor: Int32
  private var waiting: [UInt8] = []
  private var isFinished = false

  private static let room = 1 << 16

  /// - Throws: `PlatformError.system` with the path in it.
  public init(_ path: String) throws(PlatformError) {
    self.path = path
    partial = path + ".partial"
    descriptor = open(partial, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw .last("make \(partial)") }
  }

  /// Leaves nothing behind where it was not finished.
  deinit {
    close(descriptor)
    if !isFinished { unlink(partial) }
  }

  public func write(_ text: String) throws(PlatformError) { try write(Array(text.utf8)) }

  public func write(_ bytes: [UInt8]) throws(PlatformError) {
    waiting += bytes
    if waiting.count >= Self.room { try flush() }
  }

  /// The file has its name, in place of what had it before, durably.
  public func finish() throws(PlatformError) {
    try flush()
    guard fsync(descriptor) == 0 else { throw .last("sync \(partial)") }
    guard rename(partial, path) == 0 else { throw .last("make \(path)") }
    isFinished = true
    try DurableFile.syncFolder(of: path)
  }

  private func flush() throws(PlatformError) {
    var rest = waiting[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else { throw .last("write \(partial)") }
      rest = rest.dropFirst(count)
    }
    waiting.removeAll(keepingCapacity: true)
  }
}
