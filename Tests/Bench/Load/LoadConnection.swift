import Glibc
import Platform

/// One non-blocking, kept-alive connection of the load, with at most one outstanding request.
final class LoadConnection {
  /// The parts of an answer that are checked.
  struct Answer {
    let status: Int
    let hasMarker: Bool
    /// Whether it has a Retry-After; only checked in answers of 503.
    let hasRetryAfter: Bool
  }

  let socket: Socket
  /// The outstanding request, head and body.
  var request: [UInt8] = []
  /// How many of its bytes were sent.
  var sent = 0
  /// When the request was begun, in monotonic nanoseconds.
  var start: Int64 = 0
  /// Whether the socket's send buffer is full.
  var isBlocked = false
  /// The received beginning of an incomplete answer.
  private var partial: [UInt8] = []

  private init(descriptor: Int32) { socket = Socket(adopting: descriptor) }

  /// Connects to a port of this machine.
  ///
  /// - Parameter receiveBuffer: the approximate size of the kernel's receive buffer in bytes; nil
  ///   for the default.
  /// - Throws: `BenchError.unmeasurable` if the system refuses the socket or the connection.
  static func open(
    port: UInt16, receiveBuffer: Int32? = nil
  ) throws(BenchError) -> LoadConnection {
    let descriptor = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    guard descriptor >= 0 else { throw failure("make a socket") }
    let connection = LoadConnection(descriptor: descriptor)
    if var size = receiveBuffer {
      setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(4))
    }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
    let code = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard code == 0 else { throw failure("connect to port \(port)") }
    var one: Int32 = 1
    setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(4))
    _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
    return connection
  }

  private static func failure(_ attempt: String) -> BenchError {
    .unmeasurable("could not \(attempt): \(String(cString: strerror(errno)))")
  }

  /// Sends the rest of the request. Returns true if the send buffer is full.
  ///
  /// - Throws: `BenchError.unmeasurable` if the daemon has closed the connection.
  func send() throws(BenchError) -> Bool {
    while sent < request.count {
      switch socket.send(request, from: sent) {
      case .moved(let count): sent += count
      case .wouldBlock: return true
      case .ended, .broken: throw .unmeasurable("the daemon closed a connection")
      }
    }
    return false
  }

  /// Receives. Returns the answer when it is complete, else nil.
  ///
  /// - Parameter marker: text in lower case whose presence in the body is checked.
  /// - Throws: `BenchError.unmeasurable` if the daemon has closed the connection, or the answer has
  ///   no Content-Length.
  func receive(_ buffer: inout [UInt8], marker: [UInt8]) throws(BenchError) -> Answer? {
    switch socket.receive(into: &buffer) {
    case .wouldBlock: return nil
    case .ended, .broken: throw .unmeasurable("the daemon closed a connection")
    case .moved(let count):
      if partial.isEmpty, let answer = try Self.parse(buffer.span.extracting(..<count), marker) {
        return answer
      }
      partial += buffer[..<count]
      let whole = partial
      let answer = try Self.parse(whole.span, marker)
      if answer != nil { partial.removeAll(keepingCapacity: true) }
      return answer
    }
  }

  private static let headEnd = Array("\r\n\r\n".utf8)
  private static let retryField = Array("\r\nretry-after:".utf8)
  private static let lengthField = Array("content-length:".utf8)

  /// Parses an answer; nil while it is incomplete.
  private static func parse(
    _ bytes: Span<UInt8>, _ marker: [UInt8]
  ) throws(BenchError) -> Answer? {
    guard let end = find(headEnd.span, in: bytes) else { return nil }
    // "HTTP/1.1 200 …"
    let status = number(in: bytes, from: 9)
    guard let field = find(lengthField.span, in: bytes.extracting(..<end)) else {
      throw .unmeasurable("an answer without a length")
    }
    let bodyStart = end + headEnd.count
    let bodyEnd = bodyStart + number(in: bytes, from: field + lengthField.count)
    guard bytes.count >= bodyEnd else { return nil }
    let body = bytes.extracting(bodyStart..<bodyEnd)
    return Answer(
      status: status, hasMarker: find(marker.span, in: body) != nil,
      hasRetryAfter: status == 503 && find(retryField.span, in: bytes.extracting(..<end)) != nil)
  }

  /// The decimal number at an offset, after optional spaces.
  private static func number(in bytes: Span<UInt8>, from start: Int) -> Int {
    var offset = start
    var number = 0
    while offset < bytes.count, bytes[offset] == UInt8(ascii: " ") { offset += 1 }
    while offset < bytes.count, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(bytes[offset]) {
      number = number * 10 + Int(bytes[offset] & 15)
      offset += 1
    }
    return number
  }

  /// The first offset of `wanted`, which is in lower case, in bytes of either case.
  private static func find(_ wanted: Span<UInt8>, in bytes: Span<UInt8>) -> Int? {
    var offset = 0
    while offset + wanted.count <= bytes.count {
      var matched = 0
      while matched < wanted.count, lowercased(bytes[offset + matched]) == wanted[matched] {
        matched += 1
      }
      if matched == wanted.count { return offset }
      offset += 1
    }
    return nil
  }

  private static func lowercased(_ byte: UInt8) -> UInt8 {
    (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
  }
}
