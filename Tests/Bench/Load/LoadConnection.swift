import Glibc
import Platform

/// One kept-alive connection of the load, non-blocking, with at most one request under way.
final class LoadConnection {
  /// What is looked at of an answer.
  struct Answer {
    let status: Int
    let hasMarker: Bool
    /// Whether it says when to come again; looked at in refusals alone.
    let hasRetryAfter: Bool
  }

  let socket: Socket
  /// The request under way, head and body.
  var request: [UInt8] = []
  /// How many of its bytes the kernel has taken.
  var sent = 0
  /// When the request was begun, in monotonic nanoseconds.
  var start: Int64 = 0
  /// Whether the kernel takes no more of the request now.
  var isBlocked = false
  /// The beginning of an answer that did not come in one piece.
  private var partial: [UInt8] = []

  private init(descriptor: Int32) { socket = Socket(adopting: descriptor) }

  /// Connects to a port of this machine.
  ///
  /// - Parameter receiveBuffer: bytes the kernel keeps for it unread, about; its own choice if nil.
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
    let code = withUnsafePointer(to: &address) { place in
      place.withMemoryRebound(to: sockaddr.self, capacity: 1) {
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

  /// Sends what is left of the request; true where the kernel takes no more now.
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

  /// Receives; the answer once it is complete.
  func receive(_ buffer: inout [UInt8], marker: [UInt8]) throws(BenchError) -> Answer? {
    switch socket.receive(into: &buffer) {
    case .wouldBlock: return nil
    case .ended, .broken: throw .unmeasurable("the daemon closed a connection")
    case .moved(let count):
      if partial.isEmpty, let answer = try Self.read(buffer.span.extracting(..<count), marker) {
        return answer
      }
      partial += buffer[..<count]
      let whole = partial
      let answer = try Self.read(whole.span, marker)
      if answer != nil { partial.removeAll(keepingCapacity: true) }
      return answer
    }
  }

  private static let headEnd = Array("\r\n\r\n".utf8)
  private static let retryField = Array("\r\nretry-after:".utf8)
  private static let lengthField = Array("content-length:".utf8)

  /// Reads an answer; nil while it is incomplete.
  private static func read(
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

  /// The decimal number there, blanks before it skipped.
  private static func number(in bytes: Span<UInt8>, from start: Int) -> Int {
    var at = start
    var number = 0
    while at < bytes.count, bytes[at] == UInt8(ascii: " ") { at += 1 }
    while at < bytes.count, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(bytes[at]) {
      number = number * 10 + Int(bytes[at] & 15)
      at += 1
    }
    return number
  }

  /// Where `wanted`, in lower case, first occurs, whatever the case there.
  private static func find(_ wanted: Span<UInt8>, in bytes: Span<UInt8>) -> Int? {
    var at = 0
    while at + wanted.count <= bytes.count {
      var matched = 0
      while matched < wanted.count, lowercased(bytes[at + matched]) == wanted[matched] {
        matched += 1
      }
      if matched == wanted.count { return at }
      at += 1
    }
    return nil
  }

  private static func lowercased(_ byte: UInt8) -> UInt8 {
    (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
  }
}
