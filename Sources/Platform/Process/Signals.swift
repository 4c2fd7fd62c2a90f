import CLinux
import Glibc

/// The signals that ask the process to end or to reload. They are blocked and waited for
/// (sigwaitinfo(2)), since almost nothing may be called in a signal handler.
public enum Signals {
  /// What a signal asks for: `end` for SIGINT and SIGTERM, `reload` for SIGHUP, with the user who
  /// sent it.
  public enum Request: Sendable {
    case end
    case reload(user: UInt32)
  }

  private static let terminating = [SIGINT, SIGTERM]

  /// Blocks SIGINT and SIGTERM for the calling thread and those it starts, and ignores SIGPIPE:
  /// the write itself then fails with EPIPE. Call before the first thread is started.
  public static func block() {
    var set = sigset(terminating)
    pthread_sigmask(SIG_BLOCK, &set, nil)
    signal(SIGPIPE, SIG_IGN)
  }

  /// Blocks SIGHUP, so that it no longer ends the process but is a request to reload. Call before
  /// the first thread is started.
  public static func blockReload() {
    var set = sigset([SIGHUP])
    pthread_sigmask(SIG_BLOCK, &set, nil)
  }

  /// Waits for a signal that asks the process to end.
  static func wait() { _ = next(terminating) }

  /// Waits for the next request. Call after `blockReload`.
  public static func next() -> Request {
    let found = next(terminating + [SIGHUP])
    return found.number == SIGHUP ? .reload(user: found.user) : .end
  }

  /// Sends SIGTERM to this process, which ends it in the regular way.
  public static func requestEnd() { kill(getpid(), SIGTERM) }

  private static func next(_ numbers: [Int32]) -> (number: Int32, user: UInt32) {
    var set = sigset(numbers)
    var info = siginfo_t()
    while sigwaitinfo(&set, &info) < 0 {}
    return (info.si_signo, subledger_sender(&info))
  }

  private static func sigset(_ numbers: [Int32]) -> sigset_t {
    var set = sigset_t()
    sigemptyset(&set)
    for number in numbers { sigaddset(&set, number) }
    return set
  }
}
