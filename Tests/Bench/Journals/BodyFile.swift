import Glibc

/// A file of lines, which are read when needed, because an input may be larger than memory.
final class BodyFile {
  let path: String
  private let descriptor: Int32
  /// The offset of each line, and that of the end of the file.
  private var starts: [Int64] = [0]

  /// Bytes that are searched for ends of lines at once.
  private static let chunkSize = 1 << 20

  /// Opens a file and finds its lines. The last line must have an end, too.
  ///
  /// - Throws: `BenchError.unmeasurable` if it cannot be read.
  static func open(_ path: String) throws(BenchError) -> BodyFile {
    let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw failure(path) }
    let file = BodyFile(path, descriptor)
    try file.index()
    return file
  }

  private init(_ path: String, _ descriptor: Int32) {
    self.path = path
    self.descriptor = descriptor
  }

  deinit { close(descriptor) }

  private static func failure(_ path: String) -> BenchError {
    .unmeasurable("could not read \(path): \(String(cString: strerror(errno)))")
  }

  /// The number of lines.
  var count: Int { starts.count - 1 }

  /// The length of a line in bytes, without its end.
  func length(of line: Int) -> Int { Int(starts[line + 1] - starts[line]) - 1 }

  /// Appends a line, without its end, to `bytes`.
  ///
  /// - Throws: `BenchError.unmeasurable` if it cannot be read.
  func append(_ line: Int, to bytes: inout [UInt8]) throws(BenchError) {
    let start = bytes.count
    bytes.append(contentsOf: repeatElement(0, count: length(of: line)))
    var filled = start
    while filled < bytes.count {
      let missing = bytes.count - filled
      let offset = off_t(starts[line] + Int64(filled - start))
      let count = bytes.withUnsafeMutableBytes { raw in
        pread(descriptor, raw.baseAddress.map { $0 + filled }, missing, offset)
      }
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else { throw Self.failure(path) }
      filled += count
    }
  }

  private func index() throws(BenchError) {
    var bytes = [UInt8](repeating: 0, count: Self.chunkSize)
    var offset: Int64 = 0
    while true {
      let count = bytes.withUnsafeMutableBytes { raw in
        pread(descriptor, raw.baseAddress, raw.count, off_t(offset))
      }
      if count < 0 && errno == EINTR { continue }
      guard count >= 0 else { throw Self.failure(path) }
      if count == 0 { return }
      bytes.withUnsafeBytes { raw in
        var from = 0
        while from < count, let base = raw.baseAddress,
          let end = memchr(base + from, 0x0A, count - from)
        {
          from = base.distance(to: UnsafeRawPointer(end)) + 1
          starts.append(offset + Int64(from))
        }
      }
      offset += Int64(count)
    }
  }
}
