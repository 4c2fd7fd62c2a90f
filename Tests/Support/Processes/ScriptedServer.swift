import Glibc
import Platform
import Synchronization

/// A server on a raw socket, of loopback or of a path, that answers each request with the bytes of
/// a script, so that it can do what no HTTP server would.
package final class ScriptedServer: Sendable {
  package struct Request: Sendable {
    package let method: String
    package let target: String
    package let head: String
    package let body: [UInt8]
    /// Counts connections from 1.
    package let connection: Int

    package func field(_ name: String) -> String? {
      for line in head.split(separator: "\r\n").dropFirst() {
        let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0].lowercased() == name.lowercased() else { continue }
        return String(parts[1].drop { $0 == " " })
      }
      return nil
    }
  }

  /// One step of an answer.
  package enum Step: Sendable {
    case send([UInt8])
    case pause(milliseconds: UInt32)
    case close
    case reset

    package static func text(_ text: String) -> Step { .send(Array(text.utf8)) }

    /// A whole response with a length.
    package static func response(
      _ status: Int, _ body: String, type: String? = "application/json", fields: String = ""
    ) -> Step {
      .text(
        "HTTP/1.1 \(status) -\r\n" + (type.map { "Content-Type: \($0)\r\n" } ?? "") + fields
          + "Content-Length: \(body.utf8.count)\r\n\r\n" + body)
    }
  }

  package let port: UInt16
  private let listener: Int32
  private let received = Mutex<[Request]>([])
  private let accepted = Atomic<Int>(0)

  /// The requests so far, in the order of their ends.
  /// A copy made under the lock: the thread sanitizer does not see how Swift shares an array.
  package var requests: [Request] { received.withLock { $0.map { $0 } } }
  package var connections: Int { accepted.load(ordering: .relaxed) }
  package var address: String { "http://127.0.0.1:\(port)" }

  /// - Parameter path: where it listens; a free port of loopback if it is nil.
  package init(
    at path: String? = nil, _ answer: @escaping @Sendable (Request) -> [Step]
  ) throws {
    (listener, port) = try path.map { (try Loopback.listen(at: $0), 0) } ?? Loopback.listen()
    let descriptor = listener
    _ = try Thread.start("scripted") { [weak self] in
      while true {
        let connection = accept(descriptor, nil, nil)
        guard connection >= 0, let self else { break }
        let number = self.accepted.add(1, ordering: .relaxed).newValue
        _ = try? Thread.start("scripted") { [weak self] in
          Self.serve(connection, number, answer) { request in
            self?.received.withLock { $0.append(request) }
          }
          close(connection)
        }
      }
      close(descriptor)
    }
  }

  deinit { shutdown(listener, Int32(SHUT_RDWR)) }

  private static func serve(
    _ connection: Int32, _ number: Int, _ answer: (Request) -> [Step], _ record: (Request) -> Void
  ) {
    var buffer: [UInt8] = []
    while let request = next(connection, number, &buffer) {
      record(request)
      for step in answer(request) {
        switch step {
        case .send(let bytes):
          guard Loopback.send(bytes[...], to: connection) else { return }
        case .pause(let milliseconds): usleep(milliseconds * 1000)
        case .close: return
        case .reset:
          var now = linger(l_onoff: 1, l_linger: 0)
          setsockopt(
            connection, SOL_SOCKET, SO_LINGER, &now, socklen_t(MemoryLayout<linger>.size))
          return
        }
      }
    }
  }

  private static func next(
    _ connection: Int32, _ number: Int, _ buffer: inout [UInt8]
  ) -> Request? {
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while true {
      if let end = headEnd(buffer) {
        let head = String(decoding: buffer[..<end], as: UTF8.self)
        let first = head.prefix { $0 != "\r\n" }.split(separator: " ").map(String.init)
        let partial = Request(
          method: first.first ?? "", target: first.dropFirst().first ?? "", head: head, body: [],
          connection: number)
        let length = partial.field("Content-Length").flatMap { Int($0) } ?? 0
        if buffer.count >= end + length {
          defer { buffer.removeFirst(end + length) }
          return Request(
            method: partial.method, target: partial.target, head: head,
            body: Array(buffer[end..<end + length]), connection: number)
        }
      }
      let count = recv(connection, &chunk, chunk.count, 0)
      guard count > 0 else { return nil }
      buffer += chunk[..<count]
    }
  }

  private static func headEnd(_ bytes: [UInt8]) -> Int? {
    guard bytes.count >= 4 else { return nil }
    return (0...bytes.count - 4).first {
      bytes[$0..<$0 + 4].elementsEqual([0x0D, 0x0A, 0x0D, 0x0A])
    }.map { $0 + 4 }
  }
}
