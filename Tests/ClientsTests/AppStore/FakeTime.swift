import Platform
import Synchronization

@testable import Clients

/// A clock that moves only when something waits, and remembers the waits.
final class FakeTime: Sendable {
  static let start: Int64 = 1_790_000_000_000

  private let passed = Atomic<Int64>(0)
  private let recorded = Mutex<[Int64]>([])

  var elapsed: Int64 { passed.load(ordering: .relaxed) }
  var waits: [Int64] { recorded.withLock { $0 } }

  func advance(_ milliseconds: Int64) { passed.add(milliseconds, ordering: .relaxed) }

  /// - Parameter jitter: 1 for the longest waits.
  func clock(jitter: Double = 1) -> ClientClock {
    ClientClock(
      now: { Self.start + self.elapsed }, elapsed: { self.elapsed },
      wait: { milliseconds, _ in
        self.recorded.withLock { $0.append(milliseconds) }
        self.advance(milliseconds)
      }, jitter: { jitter })
  }
}
