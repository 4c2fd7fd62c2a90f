import CLinux
import Glibc

/// An eventfd (eventfd(2)): any thread may ring it, one waits, and epoll can watch it.
public final class WakeupEvent: Sendable {
  public let descriptor: Int32

  public init() {
    descriptor = eventfd(0, subledger_eventfd_flags)
    precondition(descriptor >= 0, "eventfd: the process has no descriptors left at start")
  }

  deinit { close(descriptor) }

  /// Wakes the waiter; rings before it wakes count once.
  public func ring() {
    var one: UInt64 = 1
    _ = write(descriptor, &one, 8)
  }

  /// Blocks until rung, or for so many milliseconds (for ever where negative), and silences the
  /// bell.
  public func wait(milliseconds: Int32 = -1) {
    var watched = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    while poll(&watched, 1, milliseconds) < 0 && errno == EINTR {}
    silence()
  }

  /// Takes the rings so far, without waiting.
  public func silence() {
    var count: UInt64 = 0
    _ = read(descriptor, &count, 8)
  }
}
