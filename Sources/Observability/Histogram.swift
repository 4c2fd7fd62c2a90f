import Synchronization

/// How values are spread: counted by upper bounds that are fixed from the start.
public final class Histogram: Sendable {
  public struct Reading: Sendable, Equatable {
    /// How many values lay at or under each bound, and, last, how many there are.
    public var cumulative: [Int64]
    public var sum: Double
  }

  private struct State {
    var counts: [Int64]
    var sum = 0.0
  }

  /// In ascending order; a last one, infinity, is understood.
  public let bounds: [Double]
  private let state: Mutex<State>

  public init(_ bounds: [Double]) {
    self.bounds = bounds
    state = Mutex(State(counts: [Int64](repeating: 0, count: bounds.count + 1)))
  }

  public func observe(_ value: Double) {
    var place = 0
    while place < bounds.count, value > bounds[place] { place += 1 }
    state.withLock { state in
      state.counts[place] += 1
      state.sum += value
    }
  }

  public var reading: Reading {
    state.withLock { state in
      var cumulative = state.counts
      for place in cumulative.indices.dropFirst() { cumulative[place] += cumulative[place - 1] }
      return Reading(cumulative: cumulative, sum: state.sum)
    }
  }
}
