import Glibc
import Platform

/// A blocking client on a raw socket, for requests that no HTTP library would send.
final class RawClient {
  private(set) var descriptor: Int32
  private var received: [UInt8] = []

  init(port: UInt16, receiveBuffer: Int32? = nil, sendBuffer: Int32? = nil) {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    if var size = receiveBuffer { setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, 4) }
    if var size = sendBuffer { setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &size, 4) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    connect(&address)
  }

  init(path: String) {
    descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    connect(&address)
  }

  deinit { if descriptor >= 0 { close(descriptor) } }

  private func connect<Address>(_ address: inout Address) {
    var timeout = timeval(tv_sec: 60, tv_usec: 0)
    setsockopt(
      descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
    _ = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<Address>.size))
      }
    }
  }

  func write(_ text: String) { write(Array(text.utf8)) }

  /// Returns whether all bytes were sent.
  @discardableResult
  func write(_ bytes: [UInt8]) -> Bool {
    send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count
  }

  func finishSending() { shutdown(descriptor, Int32(SHUT_WR)) }

  func leave() {
    close(descriptor)
    descriptor = -1
  }

  /// Closes with a reset.
  func reset() {
    var linger = linger(l_onoff: 1, l_linger: 0)
    setsockopt(
      descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<Glibc.linger>.size))
    close(descriptor)
    descriptor = -1
  }

  /// Returns false at the end of the stream, after a reset, or after a minute without input.
  private func receive() -> Bool {
    var buffer = [UInt8](repeating: 0, count: 65536)
    let count = recv(descriptor, &buffer, buffer.count, 0)
    if count > 0 { received += buffer[..<count] }
    return count > 0
  }

  /// Whether the stream ends next, and not by a reset.
  func endsCleanly() -> Bool {
    var byte: UInt8 = 0
    return received.isEmpty && recv(descriptor, &byte, 1, 0) == 0
  }

  /// The next response; nil if the stream ends.
  func response(toHead: Bool = false) -> (status: Int, head: String, body: String)? {
    while true {
      let text = String(decoding: received, as: UTF8.self)
      if let end = text.range(of: "\r\n\r\n") {
        let head = String(text[..<end.lowerBound])
        let status = Int(head.dropFirst(9).prefix(3)) ?? 0
        var length = 0
        for line in head.split(separator: "\r\n") where line.hasPrefix("Content-Length: ") {
          length = toHead ? 0 : Int(line.dropFirst(16)) ?? 0
        }
        let start = head.utf8.count + 4
        while received.count < start + length { guard receive() else { return nil } }
        let body = String(decoding: received[start..<start + length], as: UTF8.self)
        received.removeFirst(start + length)
        return (status, head, body)
      }
      guard receive() else { return nil }
    }
  }

  /// Whether the other end closes or resets the connection within `seconds`.
  func isClosed(within seconds: Double) -> Bool {
    let end = Clock.monotonicNanoseconds() + Int64(seconds * 1e9)
    var buffer = [UInt8](repeating: 0, count: 65536)
    while Clock.monotonicNanoseconds() < end {
      var watched = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      if poll(&watched, 1, 50) > 0, recv(descriptor, &buffer, buffer.count, 0) <= 0 { return true }
    }
    return false
  }
}

extension String {
  fileprivate func range(of part: String) -> Range<String.Index>? {
    let bytes = Array(utf8)
    let wanted = Array(part.utf8)
    guard bytes.count >= wanted.count else { return nil }
    for start in 0...bytes.count - wanted.count
    where bytes[start..<start + wanted.count].elementsEqual(wanted) {
      let lower = utf8.index(startIndex, offsetBy: start)
      return lower..<utf8.index(lower, offsetBy: wanted.count)
    }
    return nil
  }
}
