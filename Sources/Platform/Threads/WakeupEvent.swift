import CLinux
import Glibc

/// An eventfd (eventfd(2)): any thread signals it, one thread waits for it, and epoll can watch it.
public final class WakeupEvent: Sendable {
  /// Readable while a signal is pending. For `Epoll.add`; never read or close it directly.
  public let descriptor: Int32

  /// Ends the process when it has no descriptor left: events are created at start, where that
  /// means a limit far below what the daemon checks for.
  public init() {
    descriptor = eventfd(0, subledger_eventfd_flags)
    precondition(descriptor >= 0, "eventfd: the process has no descriptors left at start")
  }

  deinit { close(descriptor) }

  /// Wakes the waiting thread. Signals sent before it wakes count as one.
  public func signal() {
    var one: UInt64 = 1
    _ = write(descriptor, &one, 8)
  }

  /// Blocks until a signal is pending, then clears it.
  ///
  /// - Parameter milliseconds: the timeout; a negative value means none.
  public func wait(milliseconds: Int32 = -1) {
    var watched = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    while poll(&watched, 1, milliseconds) < 0 && errno == EINTR {}
    clear()
  }

  /// Clears pending signals without waiting.
  public func clear() {
    var count: UInt64 = 0
    _ = read(descriptor, &count, 8)
  }
}
