import Glibc
import Platform

/// One that holds a connection for as long as it is let.
final class SlowClient {
  /// How it does that.
  enum Manner: CaseIterable {
    /// A byte a second of a head.
    case dripsHead
    /// A byte a second of a body, behind a whole head.
    case dripsBody
    /// Not a word.
    case silent
    /// Half a head, and the end of its sending.
    case halfOpen
    /// Half a body, and a reset.
    case resets
    /// Asks and asks, and reads no answer.
    case neverReads

    /// After so many seconds the daemon has closed it (its limits are those of the defaults). Who
    /// never reads has its half minute from the moment that the kernel takes no more answers.
    var deadline: Double {
      switch self {
      case .dripsHead, .silent: 5
      case .dripsBody: 15
      case .halfOpen, .resets: 0
      case .neverReads: 40
      }
    }
  }

  let manner: Manner
  /// Monotonic nanoseconds.
  let start: Int64
  /// When it was last seen to be open.
  var seen: Int64
  private let connection: LoadConnection

  private static let head =
    "POST /v1/notifications HTTP/1.1\r\nHost: h\r\nContent-Length: 9999\r\n"
  private static let texts: [Manner: [UInt8]] = [
    .dripsHead: Array((head + String(repeating: "X-Filler: 1\r\n", count: 40)).utf8),
    .dripsBody: Array((head + "\r\n{" + String(repeating: " ", count: 500)).utf8),
    .resets: Array((head + "\r\n{\"signedPayload\":\"ey").utf8),
    .halfOpen: Array(head.utf8),
    .neverReads: Array(
      String(repeating: "GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n", count: 4000).utf8),
  ]

  init(_ manner: Manner, port: UInt16) throws(BenchError) {
    self.manner = manner
    connection = try .open(port: port, receiveBuffer: manner == .neverReads ? 4096 : nil)
    start = Clock.monotonicNanoseconds()
    seen = start
    let text = Self.texts[manner] ?? []
    switch manner {
    case .dripsHead, .silent: break
    case .dripsBody: say(text[...(Self.head.utf8.count + 2)])
    case .resets: resetOnClose()
    default: say(text[...])
    }
    if manner == .halfOpen { connection.socket.shutdownSending() }
    if manner == .resets { say(text[...]) }
  }

  private func say(_ bytes: ArraySlice<UInt8>) {
    if case .moved(let count) = connection.socket.send(Array(bytes), from: 0) {
      connection.sent += count
    }
  }

  private func resetOnClose() {
    var linger = linger(l_onoff: 1, l_linger: 0)
    setsockopt(
      connection.socket.descriptor, SOL_SOCKET, SO_LINGER, &linger,
      socklen_t(MemoryLayout<Glibc.linger>.size))
  }

  /// The next byte of what drips; the next thousand requests of who never reads.
  func goOn() {
    let text = Self.texts[manner] ?? []
    switch manner {
    case .dripsHead, .dripsBody:
      if connection.sent < text.count { say(text[connection.sent...connection.sent]) }
    case .neverReads: say(text[...])
    default: break
    }
  }

  /// Whether the daemon has closed it; what it answered before is of no interest here.
  func isClosed(_ buffer: inout [UInt8]) -> Bool {
    if manner == .neverReads { return isBroken }
    while true {
      switch connection.socket.receive(into: &buffer) {
      case .moved: continue
      case .wouldBlock: return false
      case .ended, .broken: return true
      }
    }
  }

  /// Told by poll(2) without reading: the reset of a connection that was closed over unread bytes.
  private var isBroken: Bool {
    var watched = pollfd(fd: connection.socket.descriptor, events: 0, revents: 0)
    return poll(&watched, 1, 0) > 0 && Int32(watched.revents) & (POLLERR | POLLHUP) != 0
  }
}
