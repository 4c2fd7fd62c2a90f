import Glibc
import Platform

/// A client that occupies a connection for as long as the daemon lets it.
final class SlowClient {
  /// How it behaves.
  enum Manner: CaseIterable {
    /// Sends a whole request, reads the answer, then stays silent.
    case idles
    /// Sends one byte of a head a second.
    case dripsHead
    /// Sends a whole head, then one byte of the body a second.
    case dripsBody
    /// Sends nothing.
    case silent
    /// Sends half a head, and shuts down its sending side.
    case halfOpen
    /// Sends half a body, and resets the connection.
    case resets
    /// Sends requests without end, and reads no answer.
    case neverReads

    /// Seconds after which the daemon must have closed it, by its default limits. For one that
    /// never reads, 30 seconds count from when the kernel's buffers for answers are full.
    var deadline: Double {
      switch self {
      case .dripsHead, .silent: 5
      case .idles: 60
      case .dripsBody: 15
      case .halfOpen, .resets: 0
      case .neverReads: 40
      }
    }
  }

  let manner: Manner
  /// When it connected, in monotonic nanoseconds.
  let start: Int64
  /// When it was last found open, in monotonic nanoseconds.
  var lastOpen: Int64
  /// What it was answered.
  private(set) var received: [UInt8] = []
  private let connection: LoadConnection

  private static let head =
    "POST /v1/notifications HTTP/1.1\r\nHost: h\r\nContent-Length: 9999\r\n"
  private static let texts: [Manner: [UInt8]] = [
    .dripsHead: Array((head + String(repeating: "X-Filler: 1\r\n", count: 40)).utf8),
    .dripsBody: Array((head + "\r\n{" + String(repeating: " ", count: 500)).utf8),
    .resets: Array((head + "\r\n{\"signedPayload\":\"ey").utf8),
    .halfOpen: Array(head.utf8),
    .idles: Array("GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n".utf8),
    .neverReads: Array(
      String(repeating: "GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n", count: 4000).utf8),
  ]

  init(_ manner: Manner, port: UInt16) throws(BenchError) {
    self.manner = manner
    connection = try .open(port: port, receiveBuffer: manner == .neverReads ? 4096 : nil)
    start = Clock.monotonicNanoseconds()
    lastOpen = start
    let text = Self.texts[manner] ?? []
    switch manner {
    case .dripsHead, .silent: break
    case .dripsBody: send(text[...(Self.head.utf8.count + 2)])
    case .resets: resetOnClose()
    default: send(text[...])
    }
    if manner == .halfOpen { connection.socket.shutdownSending() }
    if manner == .resets { send(text[...]) }
  }

  private func send(_ bytes: ArraySlice<UInt8>) {
    if case .moved(let count) = connection.socket.send(Array(bytes), from: 0) {
      connection.sent += count
    }
  }

  /// The connection is reset when this object goes.
  func resetOnClose() {
    var linger = linger(l_onoff: 1, l_linger: 0)
    setsockopt(
      connection.socket.descriptor, SOL_SOCKET, SO_LINGER, &linger,
      socklen_t(MemoryLayout<Glibc.linger>.size))
  }

  /// Sends the next byte of a dripping request, or the next requests of a client that never reads.
  func advance() {
    let text = Self.texts[manner] ?? []
    switch manner {
    case .dripsHead, .dripsBody:
      if connection.sent < text.count { send(text[connection.sent...connection.sent]) }
    case .neverReads: send(text[...])
    default: break
    }
  }

  /// The status of the answer; nil without an answer.
  var status: Int? { Int(String(decoding: received.dropFirst(9).prefix(3), as: UTF8.self)) }

  /// Whether the daemon has closed the connection.
  func isClosed(_ buffer: inout [UInt8]) -> Bool {
    if manner == .neverReads { return isBroken }
    while true {
      switch connection.socket.receive(into: &buffer) {
      case .moved(let count): received += buffer[..<count]
      case .wouldBlock: return false
      case .ended, .broken: return true
      }
    }
  }

  /// Whether the connection was reset, because the daemon closed it with unread bytes. poll(2)
  /// tells it without reading.
  private var isBroken: Bool {
    var watched = pollfd(fd: connection.socket.descriptor, events: 0, revents: 0)
    return poll(&watched, 1, 0) > 0 && Int32(watched.revents) & (POLLERR | POLLHUP) != 0
  }
}
