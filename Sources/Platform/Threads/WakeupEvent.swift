import CLinux
import Glibc
import Synchronization

/// An eventfd (eventfd(2)): any thread signals it, one thread waits for it, and epoll can watch it.
public final class WakeupEvent: Sendable {
  /// Readable while a signal is pending. For `Epoll.add`; never read or close it directly. Negative
  /// if the process had no descriptor left: epoll refuses it, and poll(2) ignores it.
  public let descriptor: Int32
  /// Whether a signal is pending, without a descriptor.
  private let isPending = Atomic<Bool>(false)
  /// Milliseconds between two looks at it.
  private static let pause: Int32 = 10

  public convenience init() { self.init(descriptor: eventfd(0, subledger_eventfd_flags)) }

  init(descriptor: Int32) { self.descriptor = descriptor }

  deinit { if descriptor >= 0 { close(descriptor) } }

  /// Wakes the waiting thread. Signals sent before it wakes count as one.
  public func signal() {
    guard descriptor >= 0 else { return isPending.store(true, ordering: .releasing) }
    var one: UInt64 = 1
    _ = write(descriptor, &one, 8)
  }

  /// Blocks until a signal is pending, then clears it.
  ///
  /// - Parameter milliseconds: the timeout; a negative value means none.
  public func wait(milliseconds: Int32 = -1) {
    guard descriptor >= 0 else { return look(for: milliseconds) }
    var watched = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    while poll(&watched, 1, milliseconds) < 0 && errno == EINTR {}
    clear()
  }

  private func look(for milliseconds: Int32) {
    let deadline = milliseconds < 0 ? nil : Deadline(milliseconds: Int64(milliseconds))
    while !isPending.exchange(false, ordering: .acquiring), deadline?.hasPassed != true {
      poll(nil, 0, min(Self.pause, deadline?.millisecondsLeft ?? Self.pause))
    }
  }

  /// Clears pending signals without waiting.
  public func clear() {
    guard descriptor >= 0 else { return isPending.store(false, ordering: .relaxed) }
    var count: UInt64 = 0
    _ = read(descriptor, &count, 8)
  }
}
