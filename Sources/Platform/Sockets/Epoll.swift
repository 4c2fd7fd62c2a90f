import CLinux
import Glibc

/// An epoll instance (epoll(7)), level-triggered: a descriptor that is still ready is reported
/// again.
public struct Epoll: ~Copyable {
  /// What is reported of a descriptor, besides a broken connection.
  public enum Interest: Sendable {
    /// Nothing else.
    case none
    /// That the peer sends nothing more (EPOLLRDHUP).
    case end
    /// Bytes, and the same.
    case read
    case write
    /// Readable; wakes one of the instances that watch the descriptor instead of all of them
    /// (EPOLLEXCLUSIVE).
    case exclusiveRead

    fileprivate var mask: UInt32 {
      switch self {
      case .none: 0
      case .end: UInt32(EPOLLRDHUP.rawValue)
      case .read: UInt32(EPOLLIN.rawValue | EPOLLRDHUP.rawValue)
      case .write: UInt32(EPOLLOUT.rawValue)
      case .exclusiveRead: UInt32(EPOLLIN.rawValue) | subledger_epoll_exclusive
      }
    }
  }

  /// A descriptor that is ready.
  public struct Event: Sendable {
    /// The value given to `add`.
    public let token: UInt64
    /// Bytes, a connection or the end of the stream can be read.
    public let readable: Bool
    /// Bytes can be written.
    public let writable: Bool
    /// The peer sends nothing more; it may still read.
    public let ended: Bool
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

  /// - Parameter batch: the most events that one `wait` reports.
  /// - Throws: `LedgerError.system` when the process or the machine has no descriptor left.
  public static func open(batch: Int = 256) throws(LedgerError) -> Epoll {
    let descriptor = epoll_create1(Int32(EPOLL_CLOEXEC))
    guard descriptor >= 0 else { throw .last("open an epoll instance") }
    return Epoll(
      descriptor: descriptor, ready: [epoll_event](repeating: epoll_event(), count: batch))
  }

  /// Watches a descriptor; its events carry `token`.
  ///
  /// - Throws: `LedgerError.system` when the user may watch no more descriptors (ENOSPC) or
  ///   memory is short (ENOMEM).
  public func add(_ watched: Int32, token: UInt64, _ interest: Interest) throws(LedgerError) {
    guard control(EPOLL_CTL_ADD, watched, token, interest) else {
      throw .last("watch a descriptor")
    }
  }

  /// Changes what is reported of a watched descriptor. The kernel refuses this for
  /// `exclusiveRead` (epoll_ctl(2)).
  public func change(_ watched: Int32, token: UInt64, _ interest: Interest) {
    _ = control(EPOLL_CTL_MOD, watched, token, interest)
  }

  /// Stops watching a descriptor. Closing it does the same.
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

  /// Waits until a descriptor is ready.
  ///
  /// - Parameter milliseconds: the timeout; -1 means none.
  /// - Returns: the number of events for `event(at:)`; 0 after the timeout or a signal.
  public mutating func wait(milliseconds: Int32) -> Int {
    let capacity = Int32(ready.count)
    let count = ready.withUnsafeMutableBufferPointer { events in
      events.baseAddress.map { epoll_wait(descriptor, $0, capacity, milliseconds) } ?? 0
    }
    return max(0, Int(count))
  }

  /// An event of the last `wait`, by its index.
  public func event(at index: Int) -> Event {
    let event = ready[index]
    let mask = event.events
    return Event(
      token: event.data.u64,
      readable: mask & UInt32(EPOLLIN.rawValue) != 0,
      writable: mask & UInt32(EPOLLOUT.rawValue) != 0,
      ended: mask & UInt32(EPOLLRDHUP.rawValue) != 0,
      broken: mask & UInt32(EPOLLERR.rawValue | EPOLLHUP.rawValue) != 0)
  }
}
