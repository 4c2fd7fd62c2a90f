import Glibc
import Platform
import Synchronization
import Testing

/// A service that answers requests one after the other with 200. It stalls before one of them, and
/// answers another one with 503.
final class StallingService: Sendable {
  /// The number of the request before which it stalls, counted from 0 over all connections.
  static let stalled = 20
  /// The number of the request that it refuses.
  static let refused = 50

  let port: UInt16
  private let listener: Listener
  private let milliseconds: UInt32
  private let count = Atomic(0)

  init(stall milliseconds: UInt32) throws {
    self.milliseconds = milliseconds
    listener = try Listener.tcp(host: "127.0.0.1", port: 0)
    port = listener.port
  }

  /// Serves one connection until the client closes it.
  func start() throws {
    _ = try Thread.start("stalling") { [self] in
      var watched = pollfd(fd: listener.descriptor, events: Int16(POLLIN), revents: 0)
      poll(&watched, 1, 10_000)
      let client = accept(listener.descriptor, nil, nil)
      guard client >= 0 else { return }
      defer { close(client) }
      var chunk = [UInt8](repeating: 0, count: 4_096)
      // Requests of these tests are short enough to arrive at once.
      while recv(client, &chunk, chunk.count, 0) > 0 {
        let number = count.add(1, ordering: .relaxed).oldValue
        if number == Self.stalled { usleep(milliseconds * 1_000) }
        let status = number == Self.refused ? "503 Service Unavailable" : "200 OK"
        let answer = Array("HTTP/1.1 \(status)\r\nContent-Length: 4\r\n\r\ngood".utf8)
        _ = send(client, answer, answer.count, Int32(MSG_NOSIGNAL))
      }
    }
  }
}
