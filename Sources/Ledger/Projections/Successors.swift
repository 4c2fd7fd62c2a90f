public import AppStore
import Synchronization

/// Which streams have named which original transaction id as their predecessor (MIGRATION), in
/// memory: reads that cannot ask the projection still know what succeeded a stream. Such names are
/// rare, and past a bound they are no longer remembered.
public final class Successors: Sendable {
  private let names = Mutex<[String: Set<StreamKey>]>([:])
  private static let maximum = 100_000

  init() {}

  func add(_ key: StreamKey, _ previousOriginalTransactionId: String) {
    names.withLock { names in
      guard names.count < Self.maximum else { return }
      names[previousOriginalTransactionId, default: []].insert(key)
    }
  }

  /// Whether some stream may have named this id: false is certain.
  public func mayKnow(_ previousOriginalTransactionId: String) -> Bool {
    names.withLock { $0.count >= Self.maximum || $0[previousOriginalTransactionId] != nil }
  }

  /// The streams that have named this id.
  public func of(_ previousOriginalTransactionId: String) -> Set<StreamKey> {
    names.withLock { $0[previousOriginalTransactionId] ?? [] }
  }
}
