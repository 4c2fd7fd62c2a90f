import Glibc
import Synchronization

/// Signals that ask the process to end, taken by waiting instead of by handlers.
public enum Signals {
  private static let watched = [SIGINT, SIGTERM]

  /// Blocks them for the calling thread and all it starts; ignores SIGPIPE, whose error the writer
  /// gets anyway. Call before the first thread.
  public static func block() {
    var set = sigset()
    pthread_sigmask(SIG_BLOCK, &set, nil)
    signal(SIGPIPE, SIG_IGN)
  }

  /// Waits for one of them.
  public static func wait() {
    var set = sigset()
    var number: Int32 = 0
    while sigwait(&set, &number) != 0 {}
  }

  /// Sends this process the signal that ends it in order.
  public static func requestEnd() { kill(getpid(), SIGTERM) }

  private static func sigset() -> sigset_t {
    var set = sigset_t()
    sigemptyset(&set)
    for number in watched { sigaddset(&set, number) }
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
