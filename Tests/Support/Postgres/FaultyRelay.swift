import Glibc
import Platform
import Synchronization

/// A relay to a server that disturbs what passes through it.
package final class FaultyRelay: Sendable {
  package enum Direction: Sendable { case toServer, toClient }

  /// What happens to bytes that arrived.
  package enum Step: Sendable {
    case pass
    case delay(milliseconds: UInt32)
    /// In two parts, with a pause between them.
    case halve(milliseconds: UInt32)
    /// They are dropped, and both ends get a reset.
    case reset
    /// The first half is passed on, and nothing after it: both ends stay open, as where a cable is
    /// pulled in the middle of a message.
    case stall
  }

  package let port: UInt16
  private let listener: Int32
  private let judge: @Sendable (Direction, ArraySlice<UInt8>) -> Step
  /// Connections that stall are closed with the relay.
  private let stalled = Mutex<[Int32]>([])

  /// - Parameters:
  ///   - target: the port that it leads to.
  ///   - judge: called with each part of the bytes, from many threads.
  package init(
    to target: UInt16, _ judge: @escaping @Sendable (Direction, ArraySlice<UInt8>) -> Step
  ) throws {
    (listener, port) = try Loopback.listen()
    self.judge = judge
    let descriptor = listener
    _ = try Thread.start("faulty") { [weak self] in
      while true {
        let client = accept(descriptor, nil, nil)
        guard client >= 0, self != nil else { break }
        self?.relay(client, to: target)
      }
      close(descriptor)
    }
  }

  deinit {
    shutdown(listener, Int32(SHUT_RDWR))
    for descriptor in stalled.withLock({ $0 }) { close(descriptor) }
  }

  private func relay(_ client: Int32, to target: UInt16) {
    guard let server = Loopback.connect(to: target) else {
      close(client)
      return
    }
    let (back, forth) = (
      try? Thread.start("faulty") { [weak self] in
        self?.pass(.toClient, from: server, to: client)
      },
      try? Thread.start("faulty") { [weak self] in
        self?.pass(.toServer, from: client, to: server)
      }
    )
    _ = try? Thread.start("faulty") { [weak self] in
      back?.join()
      forth?.join()
      if self?.stalled.withLock({ $0.contains(client) }) == true { return }
      close(client)
      close(server)
    }
  }

  private func pass(_ direction: Direction, from source: Int32, to target: Int32) {
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = recv(source, &chunk, chunk.count, 0)
      guard count > 0 else { break }
      let bytes = chunk[..<count]
      switch judge(direction, bytes) {
      case .pass: break
      case .delay(let milliseconds): usleep(milliseconds * 1000)
      case .halve(let milliseconds):
        guard Loopback.send(bytes.prefix(count / 2), to: target) else { break }
        usleep(milliseconds * 1000)
        guard Loopback.send(bytes.dropFirst(count / 2), to: target) else { break }
        continue
      case .reset: return Self.reset(source, target)
      case .stall:
        _ = Loopback.send(bytes.prefix(count / 2), to: target)
        return stalled.withLock { $0 += [source, target] }
      }
      guard Loopback.send(bytes, to: target) else { break }
    }
    if stalled.withLock({ $0.contains(source) }) { return }
    shutdown(target, Int32(SHUT_RDWR))
    shutdown(source, Int32(SHUT_RDWR))
  }

  /// The ends get a reset when they are closed with this option.
  private static func reset(_ one: Int32, _ other: Int32) {
    for descriptor in [one, other] {
      var now = linger(l_onoff: 1, l_linger: 0)
      setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &now, socklen_t(MemoryLayout<linger>.size))
      shutdown(descriptor, Int32(SHUT_RDWR))
    }
  }
}

extension ArraySlice<UInt8> {
  /// Whether the bytes hold a text.
  package func holds(_ text: String) -> Bool {
    let sought = Array(text.utf8)
    guard count >= sought.count else { return false }
    return (startIndex...endIndex - sought.count).contains {
      self[$0] == sought[0] && self[$0..<$0 + sought.count].elementsEqual(sought)
    }
  }
}
