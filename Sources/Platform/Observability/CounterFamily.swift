import Synchronization

/// Counters of one metric, one for each key.
///
/// The number of keys is bounded, so that no client can grow the table: once there are `maximum`
/// keys, a new one is counted under `other`.
public final class CounterFamily<Key: Hashable & Comparable & Sendable>: Sendable {
  private let counts = Mutex<[Key: Int64]>([:])
  private let maximum: Int
  private let other: Key

  /// - Parameters:
  ///   - maximum: how many keys get a counter of their own.
  ///   - other: the key for all that come later.
  public init(maximum: Int, other: Key) {
    self.maximum = maximum
    self.other = other
  }

  /// Adds `amount` to the counter of a key.
  public func add(_ key: Key, _ amount: Int64 = 1) {
    counts.withLock { counts in
      let hasCounter = counts.count < maximum || counts[key] != nil
      counts[hasCounter ? key : other, default: 0] += amount
    }
  }

  /// All counters, sorted by key.
  public var samples: [(key: Key, count: Int64)] {
    counts.withLock { counts in
      counts.map { (key: $0.key, count: $0.value) }.sorted { $0.key < $1.key }
    }
  }
}

/// A number that several threads add to.
public final class Counter: Sendable {
  private let number = Atomic<Int64>(0)

  public init() {}

  /// Adds `amount`, which may be negative.
  public func add(_ amount: Int64 = 1) { number.add(amount, ordering: .relaxed) }

  public var value: Int64 { number.load(ordering: .relaxed) }
}
