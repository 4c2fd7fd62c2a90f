import Glibc
import Support

/// A non-blocking client that sends slowly or never finishes.
final class SlowClient {
  /// How the client occupies a connection.
  enum Manner: CaseIterable {
    /// Sends a head byte by byte.
    case dripsHead
    /// Sends a whole head, then a body byte by byte.
    case dripsBody
    /// Connects and sends nothing.
    case silent
    /// Sends half a request and shuts down its sending side.
    case halfOpen
    /// Sends half a body, then resets the connection.
    case resets
    /// Sends requests and reads no answer.
    case neverReads
    /// Sends a whole request, reads the answer, then stays silent.
    case idles
  }

  let manner: Manner
  private var descriptor: Int32
  private var rest: ArraySlice<UInt8>
  private(set) var received: [UInt8] = []
  private(set) var isClosed = false

  init(_ manner: Manner, port: UInt16) {
    self.manner = manner
    rest = Array(Self.text(manner).utf8)[...]
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    self.descriptor = descriptor
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    var size: Int32 = 4096
    setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, 4)
    let code = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    isClosed = code != 0
    if manner != .dripsHead { begin() }
  }

  deinit { if descriptor >= 0 { close(descriptor) } }

  private static func text(_ manner: Manner) -> String {
    let head = "POST /v1/notifications HTTP/1.1\r\nHost: h\r\nContent-Length: 9999\r\n"
    return switch manner {
    case .dripsHead: head + String(repeating: "X-Filler: 1\r\n", count: 40)
    case .dripsBody, .resets:
      head + "\r\n" + #"{"signedPayload":""# + String(repeating: "A", count: 500)
    case .silent: ""
    case .halfOpen: head
    case .idles: "GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n"
    case .neverReads:
      String(repeating: "GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n", count: 2000)
    }
  }

  /// The bytes that are sent at once, before the slow part.
  private func begin() {
    let count =
      switch manner {
      case .dripsBody, .resets: 120
      default: rest.count
      }
    send(count)
    if manner == .halfOpen { shutdown(descriptor, Int32(SHUT_WR)) }
  }

  private func send(_ count: Int) {
    let chunk = Array(rest.prefix(count))
    let sent = Glibc.send(
      descriptor, chunk, chunk.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
    rest = rest.dropFirst(max(0, sent))
  }

  /// Sends the next byte or request, and notices a closed connection.
  func goOn() {
    guard !isClosed else { return }
    switch manner {
    case .dripsHead, .dripsBody: send(1)
    case .neverReads: send(rest.count)
    default: break
    }
    if manner != .neverReads { look() }
  }

  private func look() {
    var room = [UInt8](repeating: 0, count: 4096)
    let count = recv(descriptor, &room, room.count, Int32(MSG_DONTWAIT))
    if count > 0 { received += room[..<count] }
    isClosed = count == 0 || count < 0 && errno != EAGAIN
  }

  /// Closes, with a reset where the behaviour asks for it.
  func leave(resetting: Bool) {
    guard descriptor >= 0 else { return }
    if resetting {
      var linger = linger(l_onoff: 1, l_linger: 0)
      setsockopt(
        descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<Glibc.linger>.size))
    }
    close(descriptor)
    descriptor = -1
    isClosed = true
  }

  /// The status of the answer; nil without an answer.
  var status: Int? {
    received.isEmpty ? nil : Int(String(decoding: received.dropFirst(9).prefix(3), as: UTF8.self))
  }
}
