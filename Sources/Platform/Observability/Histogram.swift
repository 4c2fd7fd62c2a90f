import Synchronization

/// The distribution of values, counted in buckets with fixed upper bounds.
public final class Histogram: Sendable {
  /// The counts at one time.
  public struct Reading: Sendable, Equatable {
    /// The number of values less than or equal to each bound, and as the last element the number
    /// of all values.
    public var cumulative: [Int64]
    /// The sum of all values.
    public var sum: Double
  }

  private struct State {
    var counts: [Int64]
    var sum = 0.0
  }

  /// The upper bounds of the buckets, ascending. One more bucket without a bound follows.
  let bounds: [Double]
  private let state: Mutex<State>

  /// - Parameter bounds: ascending.
  public init(_ bounds: [Double]) {
    self.bounds = bounds
    state = Mutex(State(counts: [Int64](repeating: 0, count: bounds.count + 1)))
  }

  /// Counts a value.
  public func observe(_ value: Double) {
    var bucket = 0
    while bucket < bounds.count, value > bounds[bucket] { bucket += 1 }
    state.withLock { state in
      state.counts[bucket] += 1
      state.sum += value
    }
  }

  /// The counts now.
  public var reading: Reading {
    state.withLock { state in
      var cumulative = state.counts
      for bucket in cumulative.indices.dropFirst() { cumulative[bucket] += cumulative[bucket - 1] }
      return Reading(cumulative: cumulative, sum: state.sum)
    }
  }
}
