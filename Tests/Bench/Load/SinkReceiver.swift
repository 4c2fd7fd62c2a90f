import Glibc
import Platform
import Synchronization

/// A receiver of webhooks on one thread: takes every message with 204, and notes how long after its
/// event it came and whether each customer's came in order.
///
/// It runs on the measured machine and therefore does little: it looks for three members of a body.
final class SinkReceiver: Sendable {
  struct Counts {
    var messages = 0
    /// Messages of a customer that came after one with a greater seq.
    var outOfOrder = 0
    /// Milliseconds from the receive time of the event, of those that were asked for.
    var latencies: [Int64] = []
    fileprivate var newest: [UInt64: Int64] = [:]
  }

  let port: UInt16
  private let listener: Listener
  private let counts = Mutex(Counts())
  private let keepsLatencies = Atomic(false)
  private let isStopped = Atomic(false)
  private let ended = WakeupEvent()

  /// - Parameter port: 0 for a free one.
  /// - Throws: `BenchError.unmeasurable` if the port is taken.
  init(port: UInt16 = 0) throws(BenchError) {
    do throws(LedgerError) {
      listener = try .tcp(host: "127.0.0.1", port: port)
      self.port = listener.port
      _ = try Thread.start("receiver") { [self] in
        try? serve()
        ended.signal()
      }
    } catch {
      throw .unmeasurable(error.detail)
    }
  }

  /// Closes all connections and the port.
  func stop() {
    isStopped.store(true, ordering: .relaxed)
    listener.stop()
    ended.wait()
  }

  /// What came so far. Latencies are collected from the call on if `keepsLatencies`.
  func take(keepsLatencies: Bool = false) -> Counts {
    self.keepsLatencies.store(keepsLatencies, ordering: .relaxed)
    return counts.withLock { counts in
      defer { counts.latencies = [] }
      return counts
    }
  }

  // MARK: The thread

  private final class Connection {
    let socket: Socket
    var received: [UInt8] = []

    init(_ descriptor: Int32) { socket = Socket(adopting: descriptor) }
  }

  private static let answer = Array("HTTP/1.1 204 No Content\r\n\r\n".utf8)
  private static let listening = UInt64.max

  private func serve() throws(LedgerError) {
    var epoll = try Epoll.open()
    try epoll.add(listener.descriptor, token: Self.listening, .read)
    var connections: [UInt64: Connection] = [:]
    var buffer = [UInt8](repeating: 0, count: 1 << 18)
    var next: UInt64 = 0
    while !isStopped.load(ordering: .relaxed) {
      for index in 0..<epoll.wait(milliseconds: 100) {
        let event = epoll.event(at: index)
        guard event.token != Self.listening else {
          while case .connection(let descriptor, _) = listener.accept() {
            try epoll.add(descriptor, token: next, .read)
            connections[next] = Connection(descriptor)
            next += 1
          }
          continue
        }
        guard let connection = connections[event.token] else { continue }
        if !receive(connection, &buffer) { connections[event.token] = nil }
      }
    }
  }

  /// Returns false at the end of a connection.
  private func receive(_ connection: Connection, _ buffer: inout [UInt8]) -> Bool {
    switch connection.socket.receive(into: &buffer) {
    case .wouldBlock: return true
    case .ended, .broken: return false
    case .moved(let count): connection.received += buffer[..<count]
    }
    while let length = Self.length(of: connection.received) {
      count(connection.received[..<length])
      connection.received.removeFirst(length)
      guard connection.socket.send(Self.answer, from: 0) == .moved(Self.answer.count) else {
        return false
      }
    }
    return true
  }

  /// Bytes of the first request; nil while it is incomplete.
  private static func length(of bytes: [UInt8]) -> Int? {
    guard let end = find("\r\n\r\n", in: bytes[...]) else { return nil }
    let head = bytes[..<end]
    guard let field = find("Content-Length: ", in: head) else { return nil }
    let length = end + Int(number(bytes[field...]) ?? 0)
    return bytes.count >= length ? length : nil
  }

  private func count(_ request: ArraySlice<UInt8>) {
    let customer = Self.find("\"subject\":\"", in: request).flatMap { Self.number(request[$0...]) }
    let seq = Self.find("\"data\":{\"seq\":", in: request).flatMap { Self.number(request[$0...]) }
    let received =
      keepsLatencies.load(ordering: .relaxed)
      ? Self.find("\"received_at\":", in: request).flatMap { Self.number(request[$0...]) } : nil
    let now = Clock.now()
    counts.withLock { counts in
      counts.messages += 1
      if let received { counts.latencies.append(now - Int64(clamping: received)) }
      guard let customer, let seq else { return }
      let place = Int64(clamping: seq)
      if let last = counts.newest[customer], last > place { counts.outOfOrder += 1 }
      counts.newest[customer] = place
    }
  }

  /// The index behind a text.
  private static func find(_ text: StaticString, in bytes: ArraySlice<UInt8>) -> Int? {
    bytes.withUnsafeBytes { haystack in
      text.withUTF8Buffer { wanted in
        guard let base = haystack.baseAddress, let text = wanted.baseAddress else { return nil }
        var offset = 0
        while offset + wanted.count <= haystack.count,
          let found = memchr(base + offset, Int32(wanted[0]), haystack.count - offset)
        {
          offset = UnsafeRawPointer(found) - base
          guard offset + wanted.count <= haystack.count else { return nil }
          if memcmp(found, text, wanted.count) == 0 {
            return bytes.startIndex + offset + wanted.count
          }
          offset += 1
        }
        return nil
      }
    }
  }

  private static func number(_ bytes: ArraySlice<UInt8>) -> UInt64? {
    var number: UInt64?
    for byte in bytes {
      guard (0x30...0x39).contains(byte) else { break }
      number = (number ?? 0) &* 10 &+ UInt64(byte & 15)
    }
    return number
  }
}
