import Platform
import Synchronization

/// Tells all reactors to finish, and by when.
final class Shutdown: Sendable {
  private let requestedDeadline = Atomic<Int64>(Int64.max)

  var isRequested: Bool { deadline != Int64.max }

  /// In milliseconds of the monotonic clock; `Int64.max` until a shutdown is requested.
  var deadline: Int64 { requestedDeadline.load(ordering: .acquiring) }

  /// Requests that all reactors finish within `seconds`. Of several requests the earliest holds.
  func request(within seconds: Double) {
    let end = Clock.monotonicNanoseconds() / 1_000_000 + Int64(max(0, min(seconds, 1e6)) * 1000)
    _ = requestedDeadline.min(end, ordering: .acquiringAndReleasing)
  }
}
