import Synchronization

/// Counts the open connections, in all and by address, and refuses those over a limit.
final class ConnectionLimiter: Sendable {
  /// Under one lock: both are needed together, and only when a connection opens or closes.
  private struct Counts {
    var total = 0
    var byAddress: [String: Int] = [:]
  }

  private let counts = Mutex(Counts())
  private let limit: Int
  private let limitPerAddress: Int
  private let trusted: Set<String>

  /// - Parameter trusted: canonical addresses that are exempt from the limit per address.
  init(limits: ServerLimits, trusted: Set<String>) {
    limit = limits.connections
    limitPerAddress = limits.connectionsPerAddress
    self.trusted = trusted
  }

  /// Counts a new connection.
  ///
  /// - Returns: false if it would exceed a limit; it is then not counted.
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

  /// Removes a connection that `enter` counted.
  func leave(_ peer: Peer) {
    counts.withLock { counts in
      counts.total -= 1
      guard let address = limitedAddress(peer) else { return }
      let known = counts.byAddress[address, default: 0]
      // Removed at zero, so that the table is bounded by the open connections.
      counts.byAddress[address] = known > 1 ? known - 1 : nil
    }
  }

  /// The address to count by; nil for a trusted proxy, which speaks for many clients, and for the
  /// unix socket, whose file mode already decides who may connect.
  private func limitedAddress(_ peer: Peer) -> String? {
    guard case .address(let address) = peer, !trusted.contains(address) else { return nil }
    return address
  }
}
