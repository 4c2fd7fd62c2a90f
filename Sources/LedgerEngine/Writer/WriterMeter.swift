public import Observability
import Platform
import Synchronization

/// What the writer thread says of itself: how much it takes at once, and whether it gets on.
public final class WriterMeter: Sendable {
  /// Notifications that were committed together.
  public let batches = Histogram([1, 2, 5, 10, 20, 50, 100, 200, 500, 1000])
  /// Events signed before something of their stream that was folded already.
  public let late = Counter()
  private let fullAt = Atomic<Int64>(Int64.min)
  private let busySince = Atomic<Int64>(Int64.max)

  /// A full disk is believed for so long, in nanoseconds, and until a new notification found room:
  /// while `readyz` says no, none may come to show it.
  private static let fullPatience: Int64 = 10_000_000_000

  init() {}

  func noteFull() {
    fullAt.store(Clock.monotonicNanoseconds(), ordering: .relaxed)
  }

  func noteRoom() { fullAt.store(Int64.min, ordering: .relaxed) }

  /// Around each batch, from its commit to its answers.
  func begin(_ count: Int) {
    batches.observe(Double(count))
    busySince.store(Clock.monotonicNanoseconds(), ordering: .relaxed)
  }

  func end() { busySince.store(Int64.max, ordering: .relaxed) }

  /// Whether the last commits found no room.
  public var isFull: Bool {
    let at = fullAt.load(ordering: .relaxed)
    return at != Int64.min && Clock.monotonicNanoseconds() - at < Self.fullPatience
  }

  /// Seconds that the batch under way has taken so far; 0 where none is.
  public var stalledSeconds: Double {
    let since = busySince.load(ordering: .relaxed)
    return since == Int64.max ? 0 : Double(Clock.monotonicNanoseconds() - since) / 1e9
  }
}
