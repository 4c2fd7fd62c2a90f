import Synchronization

/// Counters of one name, told apart by a key: what happened, and how often.
///
/// Keys are values of a closed set; past `maximum` of them something else got in, and is counted
/// under `other`, so that no outsider can make a table without end.
public final class CounterFamily<Key: Hashable & Comparable & Sendable>: Sendable {
  private let counts = Mutex<[Key: Int64]>([:])
  private let maximum: Int
  private let other: Key

  public init(maximum: Int, other: Key) {
    self.maximum = maximum
    self.other = other
  }

  public func add(_ key: Key, _ amount: Int64 = 1) {
    counts.withLock { counts in
      let isTaken = counts.count < maximum || counts[key] != nil
      counts[isTaken ? key : other, default: 0] += amount
    }
  }

  /// What was counted, in order.
  public var samples: [(key: Key, count: Int64)] {
    counts.withLock { counts in
      counts.map { (key: $0.key, count: $0.value) }.sorted { $0.key < $1.key }
    }
  }
}

/// One number that only grows, or goes up and down.
public final class Counter: Sendable {
  private let number = Atomic<Int64>(0)

  public init() {}

  public func add(_ amount: Int64 = 1) { number.add(amount, ordering: .relaxed) }

  public var value: Int64 { number.load(ordering: .relaxed) }
}
