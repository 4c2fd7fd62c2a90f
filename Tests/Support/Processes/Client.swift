import Glibc
package import StrictJSON

/// One kept-alive HTTP/1.1 connection, blocking.
package final class Client {
  package struct Answer {
    package let status: Int
    package let head: String
    package let body: [UInt8]

    package var text: String { String(decoding: body, as: UTF8.self) }
    package var json: JSONElement? { try? JSONDocument(parsing: body).root }

    /// The head without the field Date.
    package var fields: String {
      head.replacing(/Date: [^\r]*\r\n/, with: "")
    }

    package func field(_ name: String) -> String? {
      for line in head.split(separator: "\r\n") {
        let parts = line.split(separator: ":", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == name.lowercased() else { continue }
        return String(parts[1].drop { $0 == " " })
      }
      return nil
    }
  }

  private let descriptor: Int32
  private var received: [UInt8] = []
  /// Whether the last read timed out: nothing was received, and the connection was not closed.
  package private(set) var isTimedOut = false

  package init(port: UInt16) {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var timeout = timeval(tv_sec: 60 * Int(RunningCommand.waitFactor), tv_usec: 0)
    setsockopt(
      descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    _ = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
  }

  deinit { close(descriptor) }

  /// Posts a notification. Returns nil if the connection fails.
  package func post(_ body: [UInt8], to path: String = "/v1/notifications") -> Answer? {
    send(
      "POST \(path) HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        + "Content-Length: \(body.count)\r\n\r\n", body)
  }

  package func get(_ path: String, token: String? = Installation.token) -> Answer? {
    ask("GET", path, token.map { ["Authorization: Bearer \($0)"] } ?? [])
  }

  package func ask(_ method: String, _ path: String, _ fields: [String] = []) -> Answer? {
    let head = ["\(method) \(path) HTTP/1.1", "Host: x"] + fields
    let length = method == "GET" ? [] : ["Content-Length: 0"]
    return send((head + length + ["", ""]).joined(separator: "\r\n"), [])
  }

  package func send(_ head: String, _ body: [UInt8]) -> Answer? {
    write(Array(head.utf8) + body) ? answer() : nil
  }

  /// Sends bytes, and returns whether the system accepted all of them.
  package func write(_ bytes: [UInt8]) -> Bool {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes {
        Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { return false }
      rest = rest.dropFirst(count)
    }
    return true
  }

  /// Closes the sending direction, so that the other end reads the end of the stream.
  package func finishSending() { shutdown(descriptor, Int32(SHUT_WR)) }

  /// Makes the close at the end a reset (SO_LINGER in socket(7)).
  package func reset() {
    var now = linger(l_onoff: 1, l_linger: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &now, socklen_t(MemoryLayout<linger>.size))
  }

  /// Whether the other end closes the connection within some seconds. What it sends meanwhile is
  /// dropped.
  package func isClosed(within seconds: Int = 30) -> Bool {
    var timeout = timeval(tv_sec: seconds, tv_usec: 0)
    setsockopt(
      descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
    while receive() { received = [] }
    return !isTimedOut
  }

  /// Reads one answer; nil if the connection ends before it is whole.
  ///
  /// - Parameter toHead: whether it answers a HEAD request, and has a length but no body.
  package func answer(toHead: Bool = false) -> Answer? {
    while true {
      if let end = headEnd() {
        let head = String(decoding: received[..<end], as: UTF8.self)
        let partial = Answer(status: Int(head.dropFirst(9).prefix(3)) ?? 0, head: head, body: [])
        let length = toHead ? 0 : partial.field("Content-Length").flatMap { Int($0) } ?? 0
        while received.count < end + length { guard receive() else { return nil } }
        let body = Array(received[end..<end + length])
        received.removeFirst(end + length)
        return Answer(status: partial.status, head: head, body: body)
      }
      guard receive() else { return nil }
    }
  }

  private func headEnd() -> Int? {
    guard received.count >= 4 else { return nil }
    for start in 0...received.count - 4 where received[start] == 0x0D {
      if received[start..<start + 4].elementsEqual([0x0D, 0x0A, 0x0D, 0x0A]) { return start + 4 }
    }
    return nil
  }

  private func receive() -> Bool {
    var buffer = [UInt8](repeating: 0, count: 65536)
    let count = recv(descriptor, &buffer, buffer.count, 0)
    isTimedOut = count < 0 && errno == EAGAIN
    if count > 0 { received += buffer[..<count] }
    return count > 0
  }
}
