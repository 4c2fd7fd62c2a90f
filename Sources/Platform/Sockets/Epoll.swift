import CLinux
import Glibc

/// An epoll instance (epoll(7)), level-triggered: what is not consumed is reported again.
public struct Epoll: ~Copyable {
  public enum Interest: Sendable {
    /// Only a broken connection is reported.
    case none
    case read
    case write
    /// To read, waking one of the instances that watch the same descriptor instead of all of them.
    case exclusiveRead

    fileprivate var mask: UInt32 {
      switch self {
      case .none: 0
      case .read: UInt32(EPOLLIN.rawValue)
      case .write: UInt32(EPOLLOUT.rawValue)
      case .exclusiveRead: UInt32(EPOLLIN.rawValue) | subledger_epoll_exclusive
      }
    }
  }

  public struct Event: Sendable {
    public let token: UInt64
    public let readable: Bool
    public let writable: Bool
    /// The connection is gone in both directions (EPOLLERR, EPOLLHUP).
    public let broken: Bool
  }

  private let descriptor: Int32
  private var ready: [epoll_event]

  private init(descriptor: Int32, ready: [epoll_event]) {
    self.descriptor = descriptor
    self.ready = ready
  }

  deinit { close(descriptor) }

  /// - Parameter batch: how many events one `wait` reports at most.
  /// - Throws: `PlatformError.system` when the process or the machine has no descriptor left.
  public static func open(batch: Int = 256) throws(PlatformError) -> Epoll {
    let descriptor = epoll_create1(Int32(EPOLL_CLOEXEC))
    guard descriptor >= 0 else { throw .last("open an epoll instance") }
    return Epoll(
      descriptor: descriptor, ready: [epoll_event](repeating: epoll_event(), count: batch))
  }

  /// Watches a descriptor; `token` comes back with its events.
  ///
  /// - Throws: `PlatformError.system` when the user may watch no more (ENOSPC) or memory is short.
  public func add(_ watched: Int32, token: UInt64, _ interest: Interest) throws(PlatformError) {
    guard control(EPOLL_CTL_ADD, watched, token, interest) else {
      throw .last("watch a descriptor")
    }
  }

  /// Changes what is reported of a watched descriptor. Not for `exclusiveRead` (epoll_ctl(2)).
  public func change(_ watched: Int32, token: UInt64, _ interest: Interest) {
    _ = control(EPOLL_CTL_MOD, watched, token, interest)
  }

  /// Watches it no longer. Closing a descriptor does the same.
  public func remove(_ watched: Int32) {
    _ = control(EPOLL_CTL_DEL, watched, 0, .none)
  }

  private func control(
    _ operation: Int32, _ watched: Int32, _ token: UInt64, _ interest: Interest
  ) -> Bool {
    var event = epoll_event()
    event.events = interest.mask
    event.data.u64 = token
    return epoll_ctl(descriptor, operation, watched, &event) == 0
  }

  /// Waits until something is ready or the time has passed (-1: for ever).
  ///
  /// - Returns: how many events there are for `event(at:)`; 0 also when a signal came between.
  public mutating func wait(milliseconds: Int32) -> Int {
    let room = Int32(ready.count)
    let count = ready.withUnsafeMutableBufferPointer { events in
      events.baseAddress.map { epoll_wait(descriptor, $0, room, milliseconds) } ?? 0
    }
    return max(0, Int(count))
  }

  /// An event of the last `wait`.
  public func event(at place: Int) -> Event {
    let event = ready[place]
    let mask = event.events
    return Event(
      token: event.data.u64,
      readable: mask & UInt32(EPOLLIN.rawValue) != 0,
      writable: mask & UInt32(EPOLLOUT.rawValue) != 0,
      broken: mask & UInt32(EPOLLERR.rawValue | EPOLLHUP.rawValue) != 0)
  }
}
