import Glibc

/// Reads a file or standard input line by line, without holding more than one chunk in memory.
public final class LineReader {
  private let path: String
  private let descriptor: Int32
  private let ownsDescriptor: Bool
  private let maximum: Int
  private let cancellation: Cancellation?
  private var buffer: [UInt8] = []
  /// The index in `buffer` of the next byte to return.
  private var offset = 0
  private var isAtEnd = false
  /// Whether the last line that `next` returned ended with a line feed, not with the file.
  public private(set) var isLineEnded = false
  private var unpack: (([UInt8]) -> [UInt8]?)?
  private let unpacker: (_ first: [UInt8]) -> (([UInt8]) -> [UInt8]?)?
  private var hasReadFirstChunk = false
  /// Bytes of the file, if it is a plain one.
  private let size: Int64?
  /// Bytes that were read of it, before unpacking.
  private var bytesRead: Int64 = 0

  /// How much of a plain file was read, from 0 to 1; nil for anything else.
  public var share: Double? {
    size.map { $0 == 0 ? 1 : min(1, Double(bytesRead) / Double($0)) }
  }

  /// Opens the file.
  ///
  /// - Parameters:
  ///   - path: a file; `-` for standard input.
  ///   - maximum: the longest line in bytes. A longer one is cut to `maximum + 1` bytes, so that
  ///     the caller can tell.
  ///   - isPlain: accept only a plain file: a pipe without a writer never ends.
  ///   - cancellation: ends the input before the next line that is not read yet.
  ///   - unpacker: called with the first chunk; returns the function that unpacks this chunk and
  ///     all later ones, or nil if the file is plain text. That function returns nil for damaged
  ///     input.
  /// - Throws: `LedgerError.system`, which holds the path and errno: EINVAL when `isPlain` and
  ///   the path is not a plain file, EISDIR for a folder.
  public init(
    path: String, maximum: Int, isPlain: Bool = false, cancellation: Cancellation? = nil,
    unpacker: @escaping (_ first: [UInt8]) -> (([UInt8]) -> [UInt8]?)? = { _ in nil }
  ) throws(LedgerError) {
    self.path = path
    self.maximum = maximum
    self.cancellation = cancellation
    self.unpacker = unpacker
    ownsDescriptor = path != "-"
    if ownsDescriptor && isPlain {
      // Checked before the real open, since opening a pipe waits for a writer (fifo(7)).
      try OpenFile.open(path, O_RDONLY | O_NONBLOCK).requireFile(path: path)
    }
    descriptor = ownsDescriptor ? open(path, O_RDONLY | O_CLOEXEC) : STDIN_FILENO
    guard descriptor >= 0 else { throw .last("open \(path)") }
    var status = stat()
    let kind = fstat(descriptor, &status) == 0 ? status.st_mode & S_IFMT : 0
    guard kind != S_IFDIR else {
      if ownsDescriptor { close(descriptor) }
      throw .system("read \(path)", EISDIR)
    }
    size = kind == S_IFREG ? Int64(status.st_size) : nil
  }

  deinit { if ownsDescriptor { close(descriptor) } }

  /// The next line without its line feed; nil after the last one, and where the input was
  /// cancelled.
  ///
  /// - Throws: `LedgerError.system` with the errno of read(2), or EIO when the unpacking function
  ///   finds damage.
  public func next() throws(LedgerError) -> [UInt8]? {
    var line: [UInt8] = []
    while true {
      if let end = lineFeed {
        append(through: end, to: &line)
        offset = end + 1
        isLineEnded = true
        return line
      }
      append(through: buffer.count, to: &line)
      let hadText = offset < buffer.count
      offset = buffer.count
      isLineEnded = false
      if isAtEnd { return line.isEmpty && !hadText ? nil : line }
      if let cancellation, !cancellation.waits(toRead: descriptor) { return nil }
      try fill()
    }
  }

  /// The index in `buffer` of the next line feed. With memchr(3): a loop over the array takes ten
  /// times as long.
  private var lineFeed: Int? {
    buffer.withUnsafeBytes { bytes in
      guard let start = bytes.baseAddress, offset < bytes.count,
        let found = memchr(start + offset, 0x0A, bytes.count - offset)
      else { return nil }
      return UnsafeRawPointer(found) - start
    }
  }

  /// Appends what the line may still have of the bytes before an index.
  private func append(through end: Int, to line: inout [UInt8]) {
    line += buffer[offset..<min(end, offset + max(0, maximum + 1 - line.count))]
  }

  private func fill() throws(LedgerError) {
    var count = 0
    let chunk = [UInt8](unsafeUninitializedCapacity: 1 << 18) { target, filled in
      count = read(descriptor, target.baseAddress, target.count)
      while count < 0 && errno == EINTR {
        count = read(descriptor, target.baseAddress, target.count)
      }
      filled = max(0, count)
    }
    guard count >= 0 else { throw .last("read \(path == "-" ? "standard input" : path)") }
    isAtEnd = count == 0
    bytesRead += Int64(count)
    if !hasReadFirstChunk { unpack = unpacker(chunk) }
    hasReadFirstChunk = true
    guard let unpacked = unpack.map({ $0(chunk) }) ?? chunk else {
      throw .system("unpack the file, which is damaged or far larger than it may be", EIO)
    }
    buffer = unpacked
    offset = 0
  }
}
