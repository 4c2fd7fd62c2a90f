import Glibc
import Synchronization

/// Signals that ask the process to end, taken by waiting instead of by handlers.
public enum Signals {
  public enum Request: Sendable { case end, reload }

  private static let ending = [SIGINT, SIGTERM]

  /// Blocks them for the calling thread and all it starts; ignores SIGPIPE, whose error the writer
  /// gets anyway. Call before the first thread.
  public static func block() {
    var set = sigset(ending)
    pthread_sigmask(SIG_BLOCK, &set, nil)
    signal(SIGPIPE, SIG_IGN)
  }

  /// From here on SIGHUP no longer ends the process, but is a request to reload. Call before the
  /// first thread.
  public static func blockReload() {
    var set = sigset([SIGHUP])
    pthread_sigmask(SIG_BLOCK, &set, nil)
  }

  /// Waits for one that ends.
  public static func wait() { _ = next(ending) }

  /// Waits for one that ends or one that reloads. Call after `blockReload`.
  public static func next() -> Request { next(ending + [SIGHUP]) == SIGHUP ? .reload : .end }

  /// Sends this process the signal that ends it in order.
  public static func requestEnd() { kill(getpid(), SIGTERM) }

  private static func next(_ numbers: [Int32]) -> Int32 {
    var set = sigset(numbers)
    var number: Int32 = 0
    while sigwait(&set, &number) != 0 {}
    return number
  }

  private static func sigset(_ numbers: [Int32]) -> sigset_t {
    var set = sigset_t()
    sigemptyset(&set)
    for number in numbers { sigaddset(&set, number) }
    return set
  }
}

/// Whether somebody pressed ^C while something long goes on.
public final class Interruption: Sendable {
  private let requested = Atomic<Bool>(false)

  /// Watches from now on, on a thread of its own.
  public init() {}

  public func watch() {
    let interruption = self
    _ = try? Thread.start("signals") {
      Signals.wait()
      interruption.requested.store(true, ordering: .relaxed)
      // A second one does not wait for anything.
      Signals.wait()
      _exit(130)
    }
  }

  public var isRequested: Bool { requested.load(ordering: .relaxed) }
}
