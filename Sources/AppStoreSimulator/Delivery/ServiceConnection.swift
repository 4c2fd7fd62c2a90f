import Glibc

/// One blocking, kept-alive HTTP/1.1 connection to a service that is trusted. It is used by one
/// thread only.
package final class ServiceConnection {
  package struct Answer: Equatable {
    package var status: Int
    package var body: [UInt8]
  }

  /// Why there was no answer. After both the request may be retried later.
  package enum Failure: Error {
    /// No connection could be made.
    case unreachable
    /// The connection ended, timed out, or the answer was not HTTP.
    case broken
  }

  private let address: ServiceAddress
  private let head: [UInt8]
  private var descriptor: Int32 = -1
  /// Bytes that were received and are not parsed yet.
  private var buffer: [UInt8] = []

  /// The timeout of a single read or write, in seconds; Apple's own is about 30.
  private static let timeoutSeconds = 30
  private static let largestAnswer = 1 << 20

  package init(_ address: ServiceAddress) {
    self.address = address
    head = Array(
      """
      POST \(address.path) HTTP/1.1\r
      Host: \(address.hostField)\r
      User-Agent: subledger-simulator\r
      Content-Type: application/json\r
      Content-Length:\u{20}
      """.utf8)
  }

  deinit { disconnect() }

  /// POSTs one body. If the service has closed the kept-alive connection in the meantime, a new one
  /// is tried once.
  ///
  /// - Throws: `Failure` if there was no answer.
  package func post(_ body: [UInt8]) throws(Failure) -> Answer {
    let request = head + Array("\(body.count)\r\n\r\n".utf8) + body
    let wasOpen = descriptor >= 0
    if !wasOpen { try connect() }
    do throws(Failure) {
      return try exchange(request)
    } catch {
      disconnect()
      guard wasOpen else { throw error }
    }
    try connect()
    do throws(Failure) {
      return try exchange(request)
    } catch {
      disconnect()
      throw error
    }
  }

  /// Sends head and body with one call, so that the body does not wait for an acknowledgement of
  /// the head.
  private func exchange(_ request: [UInt8]) throws(Failure) -> Answer {
    var rest = request[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes {
        send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else { throw .broken }
      rest = rest.dropFirst(count)
    }
    return try answer()
  }

  // MARK: Connecting

  /// Tries every address of the host in the resolver's order, so that `localhost` works with IPv4
  /// and IPv6.
  private func connect() throws(Failure) {
    var hints = addrinfo()
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    var found: UnsafeMutablePointer<addrinfo>?
    guard getaddrinfo(address.host, address.port, &hints, &found) == 0 else { throw .unreachable }
    defer { freeaddrinfo(found) }
    var next = found
    while let candidate = next?.pointee {
      let opened = socket(candidate.ai_family, candidate.ai_socktype, candidate.ai_protocol)
      if opened >= 0 {
        if Glibc.connect(opened, candidate.ai_addr, candidate.ai_addrlen) == 0 {
          configure(opened)
          return
        }
        close(opened)
      }
      next = candidate.ai_next
    }
    throw .unreachable
  }

  /// Sets timeouts, so that a service that hangs does not block the run.
  private func configure(_ opened: Int32) {
    var limit = timeval(tv_sec: Self.timeoutSeconds, tv_usec: 0)
    setsockopt(opened, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    setsockopt(opened, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    var one: Int32 = 1
    setsockopt(opened, Int32(IPPROTO_TCP), TCP_NODELAY, &one, 4)
    descriptor = opened
    buffer.removeAll(keepingCapacity: true)
  }

  private func disconnect() {
    if descriptor >= 0 { close(descriptor) }
    descriptor = -1
  }

  // MARK: Answers

  /// Reads one answer. It is lenient where the service's own parser is strict, because the service
  /// is under test, not this client.
  private func answer() throws(Failure) -> Answer {
    var end = headEnd()
    while end == nil {
      guard buffer.count < Self.largestAnswer, receive() else { throw .broken }
      end = headEnd()
    }
    let lines = String(decoding: buffer.prefix(end ?? 0), as: UTF8.self)
      .split(separator: "\r\n").map(String.init)
    buffer.removeFirst((end ?? 0) + 4)
    let statusLine = lines.first?.split(separator: " ") ?? []
    guard statusLine.count >= 2, statusLine[0].hasPrefix("HTTP/1."),
      let status = Int(statusLine[1])
    else { throw .broken }
    // An interim answer precedes the real one (RFC 9110 section 15.2).
    if (100..<200).contains(status) { return try answer() }
    let fields = lines.dropFirst().map { Self.field($0) }
    let length = fields.first { $0.name == "content-length" }.flatMap { Int($0.value) }
    let body = try body(length: length)
    if length == nil || fields.contains(where: { $0.name == "connection" && $0.value == "close" }) {
      disconnect()
    }
    return Answer(status: status, body: body)
  }

  /// Without a length the body ends where the service closes the connection (RFC 9112 section 6.3).
  private func body(length: Int?) throws(Failure) -> [UInt8] {
    guard let length else {
      while buffer.count < Self.largestAnswer, receive() {}
      return buffer
    }
    guard (0..<Self.largestAnswer).contains(length) else { throw .broken }
    while buffer.count < length {
      guard receive() else { throw .broken }
    }
    defer { buffer.removeFirst(length) }
    return Array(buffer.prefix(length))
  }

  /// The offset of the end of the head in the buffer; nil while the head is incomplete.
  private func headEnd() -> Int? {
    guard buffer.count >= 4 else { return nil }
    return (0...(buffer.count - 4)).first {
      buffer[$0] == 0x0D && buffer[$0 + 1] == 0x0A && buffer[$0 + 2] == 0x0D
        && buffer[$0 + 3] == 0x0A
    }
  }

  private static func field(_ line: String) -> (name: String, value: String) {
    let name = line.prefix { $0 != ":" }
    let value = line.dropFirst(name.count + 1).drop { $0 == " " }
    return (name.lowercased(), value.lowercased())
  }

  /// Receives what has arrived. Returns false at the end, on an error and after the timeout.
  private func receive() -> Bool {
    var chunk = [UInt8](repeating: 0, count: 4096)
    while true {
      let count = recv(descriptor, &chunk, chunk.count, 0)
      if count < 0 && errno == EINTR { continue }
      buffer += chunk.prefix(max(0, count))
      return count > 0
    }
  }
}
