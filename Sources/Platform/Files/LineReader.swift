import Glibc

/// Lines of a file or of standard input, one after the other, whatever the file's size.
public final class LineReader {
  private let descriptor: Int32
  private let ownsDescriptor: Bool
  private let maximum: Int
  private var buffer: [UInt8] = []
  private var at = 0
  private var isAtEnd = false
  /// Whether the line that came last had its end, and was not just where the file stops.
  public private(set) var isLineEnded = false
  private var unpack: (([UInt8]) -> [UInt8]?)?
  private let unpacker: (_ first: [UInt8]) -> (([UInt8]) -> [UInt8]?)?
  private var isBegun = false

  /// - Parameters:
  ///   - path: a file; `-` for standard input.
  ///   - maximum: bytes of a line that are kept; what is longer is cut there, and so will be no
  ///     valid line.
  ///   - isPlain: only a plain file will do (EINVAL): a pipe that nobody writes to has no end.
  ///   - unpacker: asked with the first bytes for what unpacks all of them; nil: they are the text.
  public init(
    path: String, maximum: Int, isPlain: Bool = false,
    unpacker: @escaping (_ first: [UInt8]) -> (([UInt8]) -> [UInt8]?)? = { _ in nil }
  ) throws(PlatformError) {
    self.maximum = maximum
    self.unpacker = unpacker
    ownsDescriptor = path != "-"
    if ownsDescriptor && isPlain {
      // Looked at before it is opened, since opening a pipe waits for who writes to it (fifo(7)).
      try OpenFile.open(path, O_RDONLY | O_NONBLOCK).requireFile(path: path)
    }
    descriptor = ownsDescriptor ? open(path, O_RDONLY | O_CLOEXEC) : STDIN_FILENO
    guard descriptor >= 0 else { throw .last("open \(path)") }
  }

  deinit { if ownsDescriptor { close(descriptor) } }

  /// The next line without its end; nil behind the last one.
  public func next() throws(PlatformError) -> [UInt8]? {
    var line: [UInt8] = []
    while true {
      if let end = buffer[at...].firstIndex(of: 0x0A) {
        line += buffer[at..<end].prefix(max(0, maximum + 1 - line.count))
        at = end + 1
        isLineEnded = true
        return line
      }
      line += buffer[at...].prefix(max(0, maximum + 1 - line.count))
      let hadText = at < buffer.count
      at = buffer.count
      isLineEnded = false
      if isAtEnd { return line.isEmpty && !hadText ? nil : line }
      try fill()
    }
  }

  private func fill() throws(PlatformError) {
    var piece = [UInt8](repeating: 0, count: 1 << 18)
    var count = read(descriptor, &piece, piece.count)
    while count < 0 && errno == EINTR { count = read(descriptor, &piece, piece.count) }
    guard count >= 0 else { throw .last("read the file") }
    isAtEnd = count == 0
    piece.removeLast(piece.count - count)
    if !isBegun { unpack = unpacker(piece) }
    isBegun = true
    guard let unpacked = unpack.map({ $0(piece) }) ?? piece else {
      throw .system("unpack the file, which is damaged", EIO)
    }
    buffer = unpacked
    at = 0
  }
}
