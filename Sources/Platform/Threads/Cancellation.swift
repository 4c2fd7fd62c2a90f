import Glibc
import Synchronization

/// A request to stop, from any thread to the ones that wait for something. It is never withdrawn.
public final class Cancellation: Sendable {
  private let requested = Atomic<Bool>(false)
  private let wakeup = WakeupEvent()

  public init() {}

  /// Readable once the cancellation is requested. For poll(2) only; never read or close it.
  public var descriptor: Int32 { wakeup.descriptor }

  public var isRequested: Bool { requested.load(ordering: .acquiring) }

  /// Requests that everything that waits with this value stops.
  public func request() {
    requested.store(true, ordering: .releasing)
    wakeup.signal()
  }

  /// Waits until there is something to read. Returns false if the cancellation is requested before.
  public func waits(toRead descriptor: Int32) -> Bool {
    var watched = [descriptor, self.descriptor].map { descriptor in
      pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    }
    while poll(&watched, nfds_t(watched.count), -1) < 0 && errno == EINTR {}
    return !isRequested
  }

  /// Waits until the time is over or the cancellation is requested.
  public func wait(milliseconds: Int64) {
    guard !isRequested else { return }
    wakeup.wait(milliseconds: Int32(clamping: max(0, milliseconds)))
    // The wait cleared the signal, on which others may wait too.
    if isRequested { wakeup.signal() }
  }
}
