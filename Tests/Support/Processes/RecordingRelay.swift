import Glibc
import Platform
import Synchronization

/// A relay on a loopback port: it hands every byte on unchanged, whole or cut as it came, and
/// remembers what clients sent.
package final class RecordingRelay: Sendable {
  package let port: UInt16
  private let listener: Int32
  /// What came over each connection, by its number.
  private let received = Mutex<[Int: [UInt8]]>([:])

  package var address: String { "http://127.0.0.1:\(port)" }

  /// - Parameter target: the port that it leads to.
  package init(to target: UInt16) throws {
    (listener, port) = try Loopback.listen()
    let descriptor = listener
    _ = try Thread.start("relay") { [weak self] in
      var number = 0
      while true {
        let client = accept(descriptor, nil, nil)
        guard client >= 0, self != nil else { break }
        number += 1
        self?.relay(client, number, to: target)
      }
      close(descriptor)
    }
  }

  deinit { shutdown(listener, Int32(SHUT_RDWR)) }

  private func relay(_ client: Int32, _ number: Int, to target: UInt16) {
    guard let server = Loopback.connect(to: target) else {
      close(client)
      return
    }
    let back = try? Thread.start("relay") { Self.pass(from: server, to: client) { _ in } }
    let forth = try? Thread.start("relay") { [weak self] in
      Self.pass(from: client, to: server) { bytes in
        self?.received.withLock { $0[number, default: []] += bytes }
      }
      back?.join()
      close(client)
      close(server)
    }
    guard forth == nil else { return }
    shutdown(client, Int32(SHUT_RDWR))
    shutdown(server, Int32(SHUT_RDWR))
  }

  private static func pass(
    from source: Int32, to target: Int32, _ record: (ArraySlice<UInt8>) -> Void
  ) {
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = recv(source, &chunk, chunk.count, 0)
      guard count > 0 else { break }
      record(chunk[..<count])
      guard Loopback.send(chunk[..<count], to: target) else { break }
    }
    // The end of one direction is the end of both: clients here send no half of a request.
    shutdown(target, Int32(SHUT_RDWR))
    shutdown(source, Int32(SHUT_RDWR))
  }

  /// The tokens of all requests so far, each once.
  package var tokens: Set<String> {
    let field = "authorization: bearer "
    let texts = received.withLock { $0.values.map { String(decoding: $0, as: UTF8.self) } }
    var found: Set<String> = []
    for line in texts.flatMap({ $0.split(whereSeparator: \.isNewline) })
    where line.lowercased().hasPrefix(field) {
      found.insert(String(line.dropFirst(field.count)))
    }
    return found
  }
}
