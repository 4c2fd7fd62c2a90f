import Synchronization

/// Counts the open connections, all together and by address, and says when there are enough.
final class ConnectionLimiter: Sendable {
  /// One lock for both: they are asked together, and only when connections come and go.
  private struct Counts {
    var total = 0
    var byAddress: [String: Int] = [:]
  }

  private let counts = Mutex(Counts())
  private let limit: Int
  private let limitPerAddress: Int
  private let trusted: Set<String>

  /// - Parameter trusted: canonical addresses that the limit per address does not hold for.
  init(limits: ServerLimits, trusted: Set<String>) {
    limit = limits.connections
    limitPerAddress = limits.connectionsPerAddress
    self.trusted = trusted
  }

  /// Counts a connection in; false, and nothing is counted, where it would be one too many.
  func enter(_ peer: Peer) -> Bool {
    counts.withLock { counts in
      guard counts.total < limit else { return false }
      if let address = limitedAddress(peer) {
        let known = counts.byAddress[address, default: 0]
        guard known < limitPerAddress else { return false }
        counts.byAddress[address] = known + 1
      }
      counts.total += 1
      return true
    }
  }

  /// Counts out what `enter` counted in.
  func leave(_ peer: Peer) {
    counts.withLock { counts in
      counts.total -= 1
      guard let address = limitedAddress(peer) else { return }
      let known = counts.byAddress[address, default: 0]
      // Forgotten at zero, so that the table is bounded by the open connections.
      counts.byAddress[address] = known > 1 ? known - 1 : nil
    }
  }

  /// The address to count by; nil for those who speak for many (a proxy) or are on this machine
  /// with the right to write to the socket file.
  private func limitedAddress(_ peer: Peer) -> String? {
    guard case .address(let address) = peer, !trusted.contains(address) else { return nil }
    return address
  }
}
