import Platform
import Synchronization

/// Counts the open connections, in all and by network of the client, and refuses those over a
/// limit. It also adds up the memory that they share.
package final class ConnectionLimiter: Sendable {
  /// Under one lock: both are needed together, and only when a connection opens or closes.
  private struct Counts {
    var total = 0
    /// By what `IPAddress.network` returns.
    var byNetwork: [String: Int] = [:]
  }

  private let counts = Mutex(Counts())
  /// How many connections of the unix socket are accepted over the limit: commands must reach the
  /// daemon while clients use all places.
  private static let reservedForCommands = 8

  private let limit: Int
  private let limitPerAddress: Int
  private let trusted: Set<String>

  /// - Parameter trusted: canonical addresses that are exempt from the limit per address.
  package init(limits: ServerLimits, trusted: Set<String>) {
    limit = limits.connections
    limitPerAddress = limits.connectionsPerAddress
    self.trusted = trusted
    bodies = SharedMemory(limit: limits.unfinishedBodyBytes)
    answers = SharedMemory(limit: limits.unsentAnswerBytes)
  }

  /// Counts a new connection.
  ///
  /// - Returns: false if it would exceed a limit; it is then not counted.
  package func enter(_ peer: Peer) -> Bool {
    counts.withLock { counts in
      let reserved = peer.isLocal ? Self.reservedForCommands : 0
      guard counts.total < limit + reserved else { return false }
      if let network = limitedNetwork(peer) {
        let known = counts.byNetwork[network, default: 0]
        guard known < limitPerAddress else { return false }
        counts.byNetwork[network] = known + 1
      }
      counts.total += 1
      return true
    }
  }

  /// Removes a connection that `enter` counted.
  package func leave(_ peer: Peer) {
    counts.withLock { counts in
      counts.total -= 1
      guard let network = limitedNetwork(peer) else { return }
      let known = counts.byNetwork[network, default: 0]
      // Removed at zero, so that the table is bounded by the open connections.
      counts.byNetwork[network] = known > 1 ? known - 1 : nil
    }
  }

  /// The network to count by; nil for a trusted proxy, which speaks for many clients, and for the
  /// unix socket, whose file mode already decides who may connect.
  private func limitedNetwork(_ peer: Peer) -> String? {
    guard case .address(let address) = peer, !trusted.contains(address) else { return nil }
    return IPAddress.network(of: address)
  }

  // MARK: Memory

  /// The memory of all unfinished bodies.
  let bodies: SharedMemory
  /// The memory of all answers that are not sent yet.
  let answers: SharedMemory
}

/// Memory that all connections share, in bytes.
final class SharedMemory: Sendable {
  private let limit: Int
  private let bytes = Atomic<Int>(0)

  init(limit: Int) { self.limit = limit }

  /// Adds to it; `change` may be negative.
  func add(_ change: Int) { bytes.add(change, ordering: .relaxed) }

  var held: Int { bytes.load(ordering: .relaxed) }

  /// Whether it is more than it may be.
  var isOverLimit: Bool { held > limit }
}
