import CLinux
import Glibc

/// What other processes may read of this one, and what the process may use.
public enum ProcessLimits {
  /// Makes new files private to their owner and keeps secrets and bodies in memory private.
  ///
  /// The core size limit stops core files; PR_SET_DUMPABLE stops what the limit does not: cores
  /// that the system pipes to a program (core(5)), and reads of the memory by other processes of
  /// this user (ptrace(2)).
  public static func keepPrivate() {
    umask(0o077)
    var none = rlimit(rlim_cur: 0, rlim_max: 0)
    setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
    _ = subledger_no_core_dumps()
    keepMemoryOutOfTheLog()
  }

  /// Removes the crash handlers of Swift's runtime, unless SWIFT_BACKTRACE is set: they print the
  /// registers and the bytes these point to on standard error, which is the log, and those bytes
  /// may be of a body or a secret.
  private static func keepMemoryOutOfTheLog() {
    guard getenv("SWIFT_BACKTRACE") == nil else { return }
    for number in [SIGQUIT, SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV] {
      signal(number, SIG_DFL)
    }
  }

  /// How many processors are online, at least 1.
  public static var processors: Int { max(1, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))) }

  /// Whether a descriptor is a terminal.
  public static func isTerminal(_ descriptor: Int32) -> Bool { isatty(descriptor) == 1 }

  /// How many columns a terminal has (ioctl_tty(2)); nil if it does not say so, or is none.
  public static func terminalColumns(_ descriptor: Int32) -> Int? {
    var size = winsize()
    guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
    return Int(size.ws_col)
  }
}
