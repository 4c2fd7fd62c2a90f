import Platform
import Synchronization

/// The one signal to all reactors: finish by then.
final class Shutdown: Sendable {
  private let moment = Atomic<Int64>(Int64.max)

  var isRequested: Bool { deadline != Int64.max }

  /// In milliseconds of the monotonic clock.
  var deadline: Int64 { moment.load(ordering: .acquiring) }

  /// Asks for the end within `seconds`; asked twice, the earlier end holds.
  func request(within seconds: Double) {
    let end = Clock.monotonicNanoseconds() / 1_000_000 + Int64(max(0, min(seconds, 1e6)) * 1000)
    _ = moment.min(end, ordering: .acquiringAndReleasing)
  }
}
