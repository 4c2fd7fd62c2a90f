import Glibc

/// Reads a file from its start to its end, in chunks.
public enum FileReading {
  /// Bytes of a chunk.
  private static let chunkSize = 1 << 20

  /// Calls `body` with each chunk, of at most 1 MiB, until it returns false.
  ///
  /// - Returns: whether the end of the file was reached.
  /// - Throws: `LedgerError.system`, which holds the path and errno: ELOOP when the path is a
  ///   link, EINVAL when it is not a plain file, so that a pipe is not waited for. Also what `body`
  ///   throws.
  public static func forEachChunk(
    _ path: String, _ body: (ArraySlice<UInt8>) throws(LedgerError) -> Bool
  ) throws(LedgerError) -> Bool {
    let file = try OpenFile.open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
    try file.requireFile(path: path)
    var chunk = [UInt8](repeating: 0, count: chunkSize)
    while true {
      let count = chunk.withUnsafeMutableBytes {
        Glibc.read(file.descriptor, $0.baseAddress, $0.count)
      }
      if count < 0 && errno == EINTR { continue }
      guard count >= 0 else { throw .last("read \(path)") }
      if count == 0 { return true }
      guard try body(chunk[..<count]) else { return false }
    }
  }
}
